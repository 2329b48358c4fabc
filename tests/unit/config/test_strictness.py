from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import Config, Mode, load, loads
from fisk_ai.config.document import BYTES_LIMIT
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]

EMPTY = "the file is empty: a run needs application_path, system_prompt and llm.model"
DEEPER = (
    "the line is indented deeper than the key above: line it up with that key, or put a text of"
    " several lines in quotes"
)
NO_COLON_ABOVE = (
    "the line above has no colon: write key: value, or put a text of several lines in quotes"
)
NOT_LINED_UP = "the line does not fit those above: line it up with the key beside it"
COLON = "a colon followed by a blank ends a key: put the text in quotes"
TAB = "a tab stands in the indentation: use spaces"
QUOTE = "a text cannot begin with this character: put the text in quotes"
BACKSLASH = "a backslash in double quotes begins an escape: use single quotes"
BEHIND = (
    "something stands behind the end of a quoted text or a list: put the whole text in quotes, and"
    " write a quote inside it twice"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llm:\n  modle: x", '2:3: unknown key "llm.modle"; did you mean "llm.model"?'),
        ("identiy: x", '1:1: unknown key "identiy"; did you mean "identity"?'),
        ("no_tui: true", '1:1: unknown key "no_tui"; did you mean "harness.no_tui"?'),
        ("mcp_servers: []", '1:1: unknown key "mcp_servers"; did you mean "mcp_clients"?'),
        ("zzz: 1", '1:1: unknown key "zzz"'),
        ("zzz:", '1:1: unknown key "zzz"'),
        ("1: x", '1:1: unknown key "1"'),
        (
            "remote_tools:\n- name: a\n- aliass: b",
            '3:3: unknown key "remote_tools[1].aliass"; did you mean "remote_tools[1].alias"?',
        ),
        (
            "expose: {agent: {slack: {aprovers: [U1]}}}",
            (
                '1:26: unknown key "expose.agent.slack.aprovers"; did you mean'
                ' "expose.agent.slack.approvers"?'
            ),
        ),
        (
            "harness: {tool_timeout_s: 3}",
            '1:11: unknown key "harness.tool_timeout_s"; did you mean "harness.tool_timeout"?',
        ),
        (
            "harness: {sessions: {bakend: file}}",
            '1:22: unknown key "harness.sessions.bakend"; did you mean "harness.sessions.backend"?',
        ),
        ("llm: {model: x, model: y}", '1:17: key "llm.model" is written twice'),
        ("llm: {options: {a: 1, 'a': 2}}", '1:23: key "llm.options.a" is written twice'),
        ("prompts: hello", '1:1: "prompts" must be a list, not text'),
        ("prompts: [{a: b}]", '1:11: "prompts[0]" must be text, not a mapping'),
        ("include: {tags: [~]}", '1:18: "include.tags[0]" must be text, not nothing'),
        ("identity: [a]", '1:1: "identity" must be text, not a list'),
        ("llm: x", '1:1: "llm" must be a mapping of keys to values, not text'),
        (
            "llm: {options: [1]}",
            '1:7: "llm.options" must be a mapping of keys to values, not a list',
        ),
        (
            "llm: {budget: {max_tokens: '5'}}",
            '1:16: "llm.budget.max_tokens" must be a whole number, not text',
        ),
        (
            "llm: {budget: {max_tokens: 5.5}}",
            '1:16: "llm.budget.max_tokens" must be a whole number, not a fraction',
        ),
        (
            "llm: {budget: {max_tokens: true}}",
            '1:16: "llm.budget.max_tokens" must be a whole number, not true or false',
        ),
        (
            "llm: {budget: {max_tokens: 9223372036854775808}}",
            '1:16: "llm.budget.max_tokens" must be a whole number of at most 64 bits',
        ),
        ("harness: {no_tui: yes}", '1:11: "harness.no_tui" must be true or false, not text'),
        ("harness: {no_tui: 1}", '1:11: "harness.no_tui" must be true or false, not a number'),
        ("zzz: 1\nllm: {model: []}", '1:1: unknown key "zzz"'),
        ("llm: {model: []}\nzzz: 1", '1:7: "llm.model" must be text, not a list'),
        ("", f"1:1: {EMPTY}"),
        ("# nothing\n", f"1:1: {EMPTY}"),
        ("---\n", f"1:1: {EMPTY}"),
        ("- a", "1:1: the file must be a mapping of keys to values"),
        ("just words", "1:1: the file must be a mapping of keys to values"),
        (
            "a: 1\n---\nb: 2",
            "2:1: a line --- begins a second document: keep one",
        ),
        ("a: *b", "1:4: a * begins a reference, and nothing has that name: put text in quotes"),
        ("a: 1\n b: 2", f"2:3: {DEEPER}"),
        ("<<: {a: 1}", "1:1: merge keys (<<) are not accepted: write the keys out"),
        ("? [a]\n: b", "1:3: a key must be text"),
        ("~: b", "1:1: a key must be text"),
        ('"": b', "1:1: a key must not be empty"),
        ("llm: {model: !env HOME}", "1:14: custom tags are not accepted: write plain values"),
        ("llm: !!set {a}", "1:6: custom tags are not accepted: write plain values"),
        ("prompts: !x [a]", "1:10: custom tags are not accepted: write plain values"),
        ("identity: !!int abc", "1:11: the value is not what its tag !!int says"),
        ("identity: !!binary aGk=", "1:11: custom tags are not accepted: write plain values"),
        (
            f"identity: {'9' * 65}",
            "1:11: a number has over 64 characters: put text in quotes",
        ),
        ("a: \x00", "1:1: control characters are not allowed: is this a text file?"),
        ("a: \ud800", "1:1: the file is not UTF-8 text"),
        ("a: " + "[" * 70 + "]" * 70, "1:68: the file is nested over 64 levels deep"),
        (
            "a: " + "[" * 9000,
            "1:1003: the file is nested too deep",
        ),
        ("llm: {options: &x {a: *x}}", "1:16: the file is nested over 64 levels deep"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused_with_its_place(
    refusal: Refusal, text: str, message: str
) -> None:
    assert str(refusal(text)) == f"parsing config: agent.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llm:\n\tmodel: x\n", f"2:1: {TAB}"),
        ("llm:\n  model: x\n \tprovider: y\n", f"3:2: {TAB}"),
        ("system_prompt: |\n\tHello\n", f"2:1: {TAB}"),
        ("system_prompt: You: be nice\n", f"1:19: {COLON}"),
        ("llm:\n  model: x\n    provider: y\n", f"3:13: {DEEPER}"),
        ("llm:\n  model: x\n\n\n    provider: y\n", f"5:13: {DEEPER}"),
        ("llm:\n  model: x\n provider: y\n", f"3:2: {NOT_LINED_UP}"),
        ("system_prompt: |\n  One\n two\nicon: x\n", f"3:2: {NOT_LINED_UP}"),
        ("identity\nicon: x\n", f"2:5: {NO_COLON_ABOVE}"),
        ("prompts:\n- a\nicon\n", "3:1: a colon is missing: write key: value"),
        (
            "- a: b\n c: d\n",
            "2:2: the line does not fit the list above: line it up with its entries",
        ),
        (
            "prompts: [a, b\nicon: x\n",
            "2:5: before this a comma is missing, or the ] of the list that opens in line 1",
        ),
        (
            '{"a": 1\n"b": 2}',
            "2:4: before this a comma is missing, or the } of the mapping that opens in line 1",
        ),
        ('icon: "abc\nidentity: x\n', "1:7: the quote that opens here is never closed: close it"),
        ("icon: 'it's'\n", f"1:11: {BEHIND}"),
        ('system_prompt: "hi" there\n', f"1:21: {BEHIND}"),
        ("icon: @x\n", f"1:7: {QUOTE}"),
        ("icon: *\n", f"1:8: {QUOTE}"),
        ("icon: ]\n", f"1:7: {QUOTE}"),
        ('icon: "\\d"\n', f"1:8: {BACKSLASH}"),
        ('icon: "\\u00"\n', f"1:10: {BACKSLASH}"),
        ("a: &x 1\nb: &x 2\n", "2:4: this is no YAML: second occurrence"),
        (
            " a: 1\nb: 2\n",
            "2:1: the line does not fit those above: line it up with the key beside it",
        ),
        ("a: - b\n", "1:4: a list begins in a line of its own: put each - below its key"),
    ],
)
def test_a_slip_of_the_pen_is_explained_without_the_parser_s_words(
    refusal: Refusal, text: str, message: str
) -> None:
    assert str(refusal(text)) == f"parsing config: agent.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("llm:\nmodel: x", '"llm.model"'),
        ("tool_timeout: 1m", '"expose.agent.a2a.tool_timeout" or "harness.tool_timeout"'),
        ("max_tokens: 5", '"llm.budget.max_tokens"'),
        ("budget: {}", '"llm.budget"'),
        ("llm: {max_tokens: 5}", '"llm.budget.max_tokens"'),
        (
            "llm: {budget: {tool_timeout: 5s}}",
            '"expose.agent.a2a.tool_timeout" or "harness.tool_timeout"',
        ),
        ("llm: {budget: {timeout: 5s}}", '"llm.budget.call_timeout"'),
        ("llm: {identity: x}", '"identity"'),
        (
            "tools: [x]",
            '"include.tools" or "exclude.tools" or "expose.agent.tools" or "harness.tools"',
        ),
        (
            "options: {}",
            '"harness.memory.options" or "harness.sessions.options" or "llm.options"',
        ),
        ("harness: {mcp: {}}", '"expose.agent.mcp"'),
        ("harness: {sessions: {directory: x}}", '"harness.sessions.options.directory"'),
        ("harness: {options: {}}", '"harness.memory.options" or "harness.sessions.options"'),
        ("harness: {model: x}", '"llm.model"'),
        ("llm: {script: x}", '"llm.options.script"'),
        (
            "expose: {agent: {approvals: deny}}",
            '"expose.agent.a2a.prompts.approvals" or "expose.agent.jobs.approvals"',
        ),
        ("expose: {agent: {a2a: {approvals: deny}}}", '"expose.agent.a2a.prompts.approvals"'),
    ],
)
def test_a_key_in_the_wrong_block_comes_with_its_whole_path(
    refusal: Refusal, text: str, meant: str
) -> None:
    assert str(refusal(text)).endswith(f"; did you mean {meant}?")


def test_aliases_that_multiply_are_stopped(refusal: Refusal) -> None:
    lines = ["x0: &x0 [a, a, a, a, a, a, a, a, a, a]"]
    lines += [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "the file holds over 100000 values" in str(refusal("\n".join(lines)))


def test_an_alias_stands_for_what_it_names(read: Read) -> None:
    config = read("include: &f {tools: [a]}\nexclude: *f")
    assert config.exclude.tools == ["a"]


def test_the_refused_key_is_kept_beside_the_sentence(refusal: Refusal) -> None:
    assert refusal("llm:\n  modle: x").key == "llm.modle"


def test_a_value_of_the_wrong_type_is_not_repeated(refusal: Refusal) -> None:
    error = refusal("mcp_clients: [{headers: {Authorization: [hunter2]}}]")
    assert "hunter2" not in str(error)
    assert "hunter2" not in repr(error.__cause__)
    assert "hunter2" not in str(error.__cause__)


@pytest.mark.parametrize("word", ["no", "on", "off", "yes", "y", "n", "No", "OFF", "1_000", "1:30"])
def test_words_that_older_yaml_reads_as_something_else_stay_words(read: Read, word: str) -> None:
    assert read(f"identity: x\ndisplay_name: {word}").display_name == word


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("1.50", "1.5"),
        ("0", "0"),
        ("007", "7"),
        ("0x1F", "31"),
        ("0o17", "15"),
        ("-5", "-5"),
        ("+5", "5"),
        ("true", "true"),
        ("False", "false"),
        ("1.0", "1"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("123456.5", "123456.5"),
        ("1234567.5", "1.2345675e+06"),
        ("1e400", "+Inf"),
        ("-.inf", "-Inf"),
        (".nan", "NaN"),
        ("'1.50'", "1.5" + "0"),
        ("!!str 1.50", "1.50"),
        ("~", ""),
        ("''", ""),
    ],
)
def test_a_text_key_takes_a_scalar_in_canonical_form(read: Read, written: str, kept: str) -> None:
    assert read(f"display_name: {written}").display_name == kept


@pytest.mark.parametrize("key", ["llm", "harness", "expose", "telemetry", "include", "prompts"])
def test_a_block_with_nothing_in_it_is_as_good_as_absent(read: Read, key: str) -> None:
    absent = read("identity: x")
    assert read(f"identity: x\n{key}:") == absent
    assert read(f"identity: x\n{key}: null") == absent


def test_only_a_written_block_is_present(read: Read) -> None:
    assert read("expose: {agent: {a2a: {prompts: }}}").expose.agent.a2a is not None
    a2a = read("expose: {agent: {a2a: {prompts: {}}}}").expose.agent.a2a
    assert a2a is not None
    assert a2a.prompts is not None
    assert read("expose: {agent: {a2a: }}").expose.agent.a2a is None


def dump(data: object) -> str:
    return yaml.safe_dump(data, allow_unicode=True)  # pyright: ignore[reportUnknownMemberType] - the stub's streams


EVERYTHING = {
    "identity": "cow",
    "display_name": "Cow \U0001f404",
    "description": 'says "moo" \\ud83d\\ude00 \\',
    "prompts": ["a/b", "tab\there"],
    "llm": {"model": "m", "budget": {"max_tokens": 5}, "options": {"x": [1, 2.5, None, True]}},
    "harness": {"confirm_tags": ["a"], "tool_timeout": "1m", "no_tui": True},
}


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_means_what_the_same_yaml_means(
    read: Read,
    ascii_only: bool,  # noqa: FBT001 - a column of the table
    indent: int | str | None,
) -> None:
    as_json = json.dumps(EVERYTHING, ensure_ascii=ascii_only, indent=indent)
    assert read(as_json) == read(dump(EVERYTHING))
    assert read(as_json).display_name == EVERYTHING["display_name"]
    assert read(as_json).description == EVERYTHING["description"]


def test_options_are_handed_on_as_they_are_written(read: Read) -> None:
    config = read("llm: {options: {script: no, n: 1, deep: {a: [~, 1.5]}, 2: two}}")
    assert config.llm.options == {"script": "no", "n": 1, "deep": {"a": [None, 1.5]}, "2": "two"}


def test_a_missing_file_stays_recognisable(tmp_path: Path) -> None:
    path = tmp_path / ("long-" * 20) / "agent.yaml"
    with pytest.raises(ConfigError) as caught:
        load(path, Mode.LENIENT)
    assert str(caught.value) == f'reading config "{path}": No such file or directory'
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_is_refused_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'^reading config ".*": Is a directory$'):
        load(tmp_path, Mode.LENIENT)


def test_a_name_no_file_can_have_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'^reading config "a\\u0000b": '):
        load(Path("a\x00b"), Mode.LENIENT)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"identity: x\nicon: \xff", "2:7: the file is not UTF-8 text"),
        ("identity: x".encode("utf-16"), "1:1: the file is not UTF-8 text"),
        (b"\x7fELF\x02\x01\x01\x00", "1:1: control characters are not allowed"),
        (b"a" * (BYTES_LIMIT + 1), "1:1: the file is over 1 MiB"),
        (b"", "1:1: the file is empty"),
    ],
)
def test_a_file_that_holds_no_configuration_is_refused(
    tmp_path: Path, raw: bytes, reason: str
) -> None:
    path = tmp_path / "agent.yaml"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        load(path, Mode.LENIENT)
    assert str(caught.value).startswith(f"parsing config: {path}:{reason}")


def test_an_endless_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    with pytest.raises(ConfigError, match="over 1 MiB"):
        load(path, Mode.LENIENT)
    assert tracemalloc.get_traced_memory()[1] < 20 * BYTES_LIMIT
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / name
    with pytest.raises(ConfigError) as caught:
        load(path, Mode.LENIENT)
    assert str(caught.value) == (
        f'reading config "{path}": it is no regular file; save what it holds to one'
    )


def test_a_link_to_a_configuration_is_followed(tmp_path: Path) -> None:
    (tmp_path / "mounted").write_text("identity: x", encoding="utf-8")
    (tmp_path / "agent.yaml").symlink_to("mounted")
    assert load(tmp_path / "agent.yaml", Mode.LENIENT).identity == "x"


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_bytes(b"\xef\xbb\xbfidentity: x")
    assert load(path, Mode.LENIENT).identity == "x"


def test_a_configuration_knows_its_file_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.yaml").write_text("identity: x")
    monkeypatch.chdir(tmp_path)
    config = load(Path("agent.yaml"), Mode.LENIENT)
    monkeypatch.chdir(os.sep)
    assert config.source == Path("agent.yaml")
    assert config.directory == tmp_path


def test_a_configuration_cannot_be_changed(read: Read) -> None:
    config = read("identity: x")
    with pytest.raises(ValueError, match="frozen"):
        config.identity = "y"


def complaint(act: Callable[[], object]) -> str:
    try:
        act()
    except ConfigError as exc:
        return str(exc)
    return ""


_words = st.text(alphabet="abc:-[]{}&*!|>'\"%@#, \n\t~<1.x", max_size=60)


@given(st.one_of(st.text(), _words))
def test_any_text_is_a_configuration_or_a_refusal(text: str) -> None:
    for mode in Mode:
        assert "\n" not in complaint(partial(loads, text, mode, source=Path("agent.yaml")))


_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_keys = st.sampled_from(["llm", "harness", "expose", "include", "prompts", "identity", "telemetry"])


@given(st.dictionaries(_keys, _values))
def test_any_values_under_known_keys_are_a_configuration_or_a_refusal(
    data: dict[str, object],
) -> None:
    text = dump(data)
    for mode in Mode:
        assert "\n" not in complaint(partial(loads, text, mode, source=Path("agent.yaml")))


@given(st.binary())
def test_any_bytes_are_a_configuration_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(raw)
    assert "\n" not in complaint(partial(load, path, Mode.LENIENT))
