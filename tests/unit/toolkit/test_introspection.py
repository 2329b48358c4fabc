"""How an application is asked to describe itself, and what is said when it does not."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import SetupError
from fisk_ai.text import gojson
from fisk_ai.toolkit.fisk import introspection, starting, undescribed
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.fisk.document import Application, decode
from fisk_ai.toolkit.fisk.introspection import Introspection

Loading = Callable[..., Awaitable[LoadedApplication]]
Program = Callable[..., Path]
Gone = Callable[[int], Awaitable[None]]
Written = Callable[[Path], Awaitable[str]]


async def introspect(
    program: Path, *, environ: Mapping[str, str], timeout_s: float = 30.0
) -> Application:
    with closing(Introspection(program, environ=environ, timeout_s=timeout_s)) as introspection:
        return await asyncio.to_thread(introspection.document)


def descriptors() -> list[Path]:
    return sorted(Path("/proc/self/fd").iterdir())


async def refusal(path: Path, *, timeout_s: float = 30.0) -> str:
    with pytest.raises(SetupError) as caught:
        await introspect(path, environ=os.environ, timeout_s=timeout_s)
    assert caught.value.key == "application_path"
    assert str(path) in str(caught.value)
    return str(caught.value)


async def test_a_program_is_asked_with_one_argument_and_a_scrubbed_environment(
    program: Program, tmp_path: Path
) -> None:
    path = program(
        f'printf "%s|" "$#" "$1" "$LLMFORMAT" "$FISK_AI" "$ANTHROPIC_API_KEY" "$FISK_AI_CALL" '
        f'"$PWD" > {tmp_path}/seen; echo \'{{"name":"x"}}\''
    )
    environ = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "k", "FISK_AI_CALL": "old/1"}
    document = await introspect(path, environ=environ)
    seen = (tmp_path / "seen").read_text().split("|")
    assert document.name == "x"
    assert seen[:6] == ["1", "--fisk-introspect", "1", "1", "", ""]
    assert seen[6] == str(Path.cwd())


async def test_standard_input_is_empty_and_no_descriptor_is_inherited(
    program: Program, tmp_path: Path
) -> None:
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)  # noqa: FBT003 - the standard library's own shape
    try:
        path = program(
            f"cat > {tmp_path}/stdin; (echo x >&{write_end}) 2>/dev/null && touch {tmp_path}/leak\n"
            'echo \'{"name":"x"}\''
        )
        await introspect(path, environ=os.environ)
    finally:
        os.close(read_end)
        os.close(write_end)
    assert (tmp_path / "stdin").read_bytes() == b""
    assert not (tmp_path / "leak").exists()


async def test_a_line_on_stderr_breaks_the_document_and_is_shown(program: Program) -> None:
    path = program("echo 'deprecated setting' >&2; echo '{\"name\":\"x\"}'")
    message = await refusal(path)
    assert "decoding the introspection document failed" in message
    assert "deprecated setting" in message


@pytest.mark.parametrize(
    "printed",
    [
        "[]",
        "null",
        '"text"',
        '{"name":"x"} {}',
        '{"name":"x"',
        '{"name":1}',
        '{"commands":{}}',
        '{"commands":[{"flags":[{"short":"v"}]}]}',
        '{"commands":[{"tags":"ai:deny"}]}',
        '{"commands":[{"restricted_schema":[]}]}',
    ],
)
async def test_what_is_no_such_document_fails_to_decode(program: Program, printed: str) -> None:
    path = program(f"cat <<'X'\n{printed}\nX")
    assert "decoding the introspection document failed" in await refusal(path)


@pytest.mark.parametrize(
    "members",
    [
        '"tags":["ai:confirm"],"tags":[]',
        '"tags" : [ "ai:confirm" ], "help": "x", "tags": ["b"]',
        '"tags":["a"],"tags":["ai:confirm"]',
    ],
)
async def test_a_command_with_its_tags_twice_is_refused_by_name(members: str) -> None:
    other = '{"name":"b","tags":["ai:confirm"]}'
    raw = f'{{"commands":[{other},{{"name":"g","commands":[{{"name":"rm",{members}}}]}}]}}'
    with pytest.raises(ValueError, match='"rm" has its tags twice'):
        decode(raw.encode())


async def test_an_application_with_its_commands_twice_is_refused() -> None:
    raw = b'{"name":"a","commands":[{"name":"rm","tags":["ai:deny"]}],"commands":[{"name":"rm"}]}'
    with pytest.raises(ValueError, match='"a" has its commands twice'):
        decode(raw)


def _escaped(key: str, at: set[int]) -> str:
    return "".join(f"\\u{ord(c):04x}" if n in at else c for n, c in enumerate(key))


@given(
    st.lists(st.sampled_from(["tags", "commands"]), min_size=1, max_size=2, unique=True),
    st.lists(st.sets(st.integers(0, 7)), min_size=3, max_size=3),
    st.integers(0, 3),
    st.sampled_from([0, 1]),
)
def test_a_key_given_twice_is_refused_however_deep_and_however_spelled(
    keys: list[str], spellings: list[set[int]], depth: int, decoys: int
) -> None:
    key = keys[0]
    value = '["ai:deny"]' if key == "tags" else '[{"name":"x"}]'
    members = [f'"{_escaped(key, at)}":{value}' for at in spellings[:2]]
    command = f'{{"name":"rm",{",".join(members)}}}'
    for level in range(depth):
        command = f'{{"name":"g{level}","commands":[{command}]}}'
    decoy = f',{{"name":"b","{_escaped("tags", spellings[2])}":["x"]}}' * decoys
    with pytest.raises(ValueError, match=f'"rm" has its {key} twice'):
        decode(f'{{"commands":[{command}{decoy}]}}'.encode())


@pytest.mark.parametrize("odd", ["1" * 5000, "1e999999", '"\udcff"', "[" * 200 + "]" * 200])
def test_what_no_command_is_made_of_may_hold_anything(odd: str) -> None:
    raw = f'{{"x":{{"tags":["u"],"n":{odd}}},"commands":[{{"name":"c"}}]}}'
    assert decode(raw.encode(errors="surrogateescape")).commands[0].name == "c"


@pytest.mark.parametrize("lone", ["\\ud83d", "\\uDE00", "a\\ud83d\\ud83db", "\\udc00\\ud800"])
def test_half_a_character_in_a_text_is_read_as_a_replacement_character(lone: str) -> None:
    raw = f'{{"commands":[{{"name":"a","help":"{lone}","restricted_schema":{{}}}}]}}'
    (command,) = decode(raw.encode()).commands
    assert command.help == gojson.loads(f'"{lone}"')
    assert "\ufffd" in command.help


def test_half_a_character_does_not_hide_a_gate() -> None:
    raw = b'{"help":"\\ud83d","commands":[{"name":"rm","tags":["ai:deny"],"tags":[]}]}'
    with pytest.raises(ValueError, match='"rm" has its tags twice'):
        decode(raw)


@pytest.mark.parametrize(
    "wrong", ['{"help":"\\ud83d"', '{"help":"\\ud83d"} x', '{"help":"\\ud83d","name":1}']
)
def test_half_a_character_excuses_nothing_else(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)truncated|trailing|expected `str`"):
        decode(wrong.encode())


@pytest.mark.parametrize(
    ("key", "shown", "meant"),
    [
        ("Tags", "Tags", "tags"),
        ("TAGS", "TAGS", "tags"),
        ("ta_gs", "ta_gs", "tags"),
        ("tag\u017f", "tag\u017f", "tags"),
        ("tags\u200b", "'tags\\\\u{200b}'", "tags"),
        ("\\u0054ags", "Tags", "tags"),
        ("Commands", "Commands", "commands"),
        ("Hidden", "Hidden", "hidden"),
        ("restrictedSchema", "restrictedSchema", "restricted_schema"),
        ("Flags", "Flags", "flags"),
    ],
)
def test_a_key_that_only_looks_like_one_that_is_read_is_refused_by_name(
    key: str, shown: str, meant: str
) -> None:
    raw = f'{{"commands":[{{"name":"g","commands":[{{"name":"rm","{key}":[]}}]}}]}}'
    said = f'"rm" has the key {shown}, which is not read; write {meant}'
    with pytest.raises(ValueError, match=re.escape(said.replace("\\\\", "\\"))):
        decode(raw.encode())


def test_a_hidden_flag_is_not_shown_because_of_how_its_key_is_spelled() -> None:
    for place in (
        '{"flags":[%s]}',
        '{"commands":[{"flags":[%s]}]}',
        '{"commands":[{"args":[%s]}]}',
    ):
        with pytest.raises(ValueError, match='"force" has the key Hidden'):
            decode((place % '{"name":"force","Hidden":true}').encode())


def test_keys_of_a_schema_and_of_what_nobody_knows_may_look_like_any_other() -> None:
    schema = '{"properties":{"Tags":{"Hidden":1},"Commands":{}}}'
    raw = f'{{"x":{{"Tags":[]}},"commands":[{{"name":"a","restricted_schema":{schema}}}]}}'
    (command,) = decode(raw.encode()).commands
    assert command.restricted_schema == {"properties": {"Tags": {"Hidden": 1}, "Commands": {}}}


async def test_other_lists_called_tags_are_no_tags_of_a_command() -> None:
    schema = '{"properties":{"x":{"tags":["a"],"default":"\\"tags\\":[\\"ai:deny\\"]"},"tags":{}}}'
    raw = f'{{"commands":[{{"name":"a","tags":[],"restricted_schema":{schema}}}]}}'
    (command,) = decode(raw.encode()).commands
    assert command.tags == ()


async def test_text_in_front_of_a_document_is_told_as_such_with_its_beginning(
    program: Program,
) -> None:
    message = await refusal(program("echo '[info] loading' $(seq 99); echo '{\"name\":\"x\"}'"))
    said = message.partition("(it printed: ")[2]
    assert "other text stands before it (it printed: [info] loading 1 2" in message
    assert message.endswith(
        "let the program print nothing when it is imported and before it describes itself"
    )
    assert len(said.partition(")")[0]) == undescribed.BEGINNING + len("…")
    assert '"name"' not in message


@pytest.mark.parametrize("script", ["", "true", "echo; echo ' '"])
async def test_a_program_that_prints_nothing_is_asked_for_its_call_of_the_adapter(
    program: Program, script: str
) -> None:
    message = await refusal(program(script))
    assert "it printed nothing; does its entry point call run(app)" in message
    assert "decoding" not in message


async def test_a_document_nested_without_end_is_refused_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(b'{"commands":[' * 50_000)


async def test_a_failing_program_is_never_reported_as_bad_json(program: Program) -> None:
    message = await refusal(program('echo \'{"name":"x"}\'; exit 3'))
    assert "status 3" in message
    assert "decoding" not in message
    assert "a signal" in await refusal(program("kill -9 $$", name="killed"))


async def test_a_program_whose_output_somebody_keeps_open_did_not_answer(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "LINGER_S", 0.1)
    message = await refusal(program('sleep 60 & echo \'{"name":"x"}\''))
    assert "kept its output open" in message


async def test_the_end_of_what_a_failing_program_printed_is_shown(program: Program) -> None:
    path = program(
        "seq 1 9999; printf '\\033[31mValueError:\\033[0m no \\342\\224\\202 such node\\n'; exit 1"
    )
    message = await refusal(path)
    assert message.endswith("9998 9999 ValueError: no such node)")
    assert "(it printed: …" in message
    assert len(message) < len(str(path)) + undescribed.EXCERPT + 100


async def test_the_end_is_shown_of_output_beyond_the_limit(program: Program) -> None:
    limit = introspection.SIZE_LIMIT_BYTES
    path = program(f"head -c {limit} /dev/zero; echo; echo out of cheese; exit 1")
    assert "out of cheese" in await refusal(path)


async def test_one_endless_word_is_cut_to_its_end(program: Program) -> None:
    message = await refusal(program("head -c 9000 /dev/zero | tr '\\0' x; echo end; exit 1"))
    assert message.endswith("xend)")
    assert len(message) < 700


async def test_what_spoils_a_document_behind_it_is_shown(program: Program) -> None:
    path = program('echo \'{"name":"x","help":"\'$(seq 1 999)\'"}\'; echo \'late warning\' >&2')
    assert "late warning" in await refusal(path)


async def test_of_a_traceback_the_exception_alone_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "todo"
    path.write_text(
        f"#!{sys.executable}\ndef f(n):\n    if n == 0:\n        raise ValueError('no such node')\n"
        "    f(n - 1)\ntry:\n    f(50)\nexcept ValueError as error:\n"
        "    raise OSError('no \\x1bc cheese') from error\n"
    )
    path.chmod(0o755)
    assert (await refusal(path)).endswith("it ended with status 1 (it printed: OSError: no cheese)")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("from os import no_such_thing", "ImportError: cannot import name 'no_such_thing'"),
    ],
)
async def test_a_program_without_its_packages_is_told_where_to_install_it(
    tmp_path: Path, statement: str, said: str
) -> None:
    path = tmp_path / "todo"
    path.write_text(f"#!{sys.executable}\n{statement}\n")
    path.chmod(0o755)
    message = await refusal(path)
    assert f"(it printed: {said}" in message
    assert message.endswith("); activate its environment, or install the program where it runs")


@pytest.mark.parametrize("library", ["typer", "click"])
async def test_the_author_of_a_program_without_an_adapter_is_told_what_to_call(
    tmp_path: Path, library: str
) -> None:
    path = tmp_path / "todo"
    decorator = (
        "app = typer.Typer()\n@app" if library == "typer" else "@click.group()\ndef app(): 0\n@app"
    )
    path.write_text(
        f"#!{sys.executable}\nimport {library}\n{decorator}.command()\ndef a(): 0\n"
        f"@app.command()\ndef b(): 0\napp()\n"
    )
    path.chmod(0o755)
    message = await refusal(path)
    assert re.search("No such option:? '?--fisk-introspect", message)
    assert "calls run(app) of fisk_ai.adapters.typer or fisk_ai.adapters.click" in message
    assert "│" not in message


@pytest.mark.parametrize("positional", ["x", "--x"])
async def test_an_argparse_program_is_told_how_it_can_be_asked(
    tmp_path: Path, positional: str
) -> None:
    path = tmp_path / "todo"
    path.write_text(
        f"#!{sys.executable}\nimport argparse\np = argparse.ArgumentParser()\n"
        f"p.add_argument('{positional}')\np.parse_args()\n"
    )
    path.chmod(0o755)
    assert "parse_args(parser) of fisk_ai.adapters.argparse" in await refusal(path)


async def test_a_script_with_windows_line_ends_is_told_so_behind_env(tmp_path: Path) -> None:
    path = tmp_path / "todo"
    path.write_bytes(b"#!/usr/bin/env python3\r\nprint()\r\n")
    path.chmod(0o755)
    message = await refusal(path)
    assert "its lines end as on Windows" in message
    assert "env:" not in message


async def test_a_command_that_a_program_misses_is_not_its_interpreter(program: Program) -> None:
    message = await refusal(program("no-such-command-anywhere"))
    assert "status 127" in message
    assert "Windows" not in message


async def test_another_status_gets_no_advice_about_adapters(program: Program) -> None:
    assert "adapters" not in await refusal(program("echo no such option; exit 1"))


@pytest.mark.parametrize(
    ("text", "mode", "advice"),
    [
        (None, 0, "there is no such file"),
        ("#!/bin/sh\n", 0o644, "it is not executable; allow that with chmod +x"),
        ("directory", 0o755, "it is a directory, not a program"),
        ("echo hello\n", 0o755, "begin a script with a line such as #!/usr/bin/env python3"),
        ("#!/bin/sh\r\necho\r\n", 0o755, "its lines end as on Windows"),
        (
            "#!/no/such/python -P\n",
            0o755,
            'names the interpreter "/no/such/python -P", which is not there',
        ),
    ],
    ids=[
        "missing",
        "not executable",
        "a directory",
        "no interpreter",
        "crlf",
        "lost interpreter",
    ],
)
async def test_a_program_that_cannot_start_is_named_once_with_what_to_do(
    tmp_path: Path, text: str | None, mode: int, advice: str
) -> None:
    path = tmp_path / "thing"
    if text == "directory":
        path.mkdir()
    elif text is not None:
        path.write_text(text)
        path.chmod(mode)
    message = await refusal(path)
    assert f"application_path: cannot start {path}: " in message
    assert advice in message
    assert message.count(str(path)) == 1
    assert "Errno" not in message


async def test_a_program_that_hangs_is_killed_with_its_group(
    program: Program, tmp_path: Path, gone: Gone
) -> None:
    path = program(f"sleep 30 & echo $! > {tmp_path}/pid; wait")
    message = await refusal(path, timeout_s=1.0)
    assert "timed out" in message
    assert "within 1s" in message
    await gone(int((tmp_path / "pid").read_text()))


async def test_a_document_over_the_limit_is_refused_and_read_to_its_end(
    program: Program, tmp_path: Path
) -> None:
    limit = introspection.SIZE_LIMIT_BYTES
    path = program(f"head -c {limit + 1} /dev/zero; touch {tmp_path}/written")
    message = await refusal(path)
    assert str(limit) in message
    assert (tmp_path / "written").exists()


async def test_a_document_at_the_limit_is_read(program: Program) -> None:
    limit = introspection.SIZE_LIMIT_BYTES
    path = program(
        f"printf '{{\"name\":\"'; head -c {limit - 11} /dev/zero | tr '\\0' x; printf '\"}}'"
    )
    document = await introspect(path, environ=os.environ)
    assert len(document.name) == limit - 11


async def test_a_cancelled_load_leaves_no_process(
    program: Program, tmp_path: Path, written: Written, gone: Gone
) -> None:
    path = program(f"echo $$ > {tmp_path}/pid; sleep 30")
    task = asyncio.ensure_future(introspect(path, environ=os.environ))
    pid = int(await written(tmp_path / "pid"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(pid)


async def test_a_program_works_before_anybody_waits_for_it_and_ends_when_nobody_does(
    program: Program, tmp_path: Path, written: Written, gone: Gone
) -> None:
    path = program(f"echo $$ > {tmp_path}/pid; sleep 30")
    with closing(Introspection(path, environ=os.environ)):
        pid = int(await written(tmp_path / "pid"))
    await gone(pid)


async def test_a_program_that_let_go_of_its_output_has_no_longer_to_end(
    program: Program, tmp_path: Path, written: Written, gone: Gone
) -> None:
    path = program(f"exec >&- 2>&-; echo $$ > {tmp_path}/pid; sleep 30")
    assert "timed out" in await refusal(path, timeout_s=0.3)
    await gone(int(await written(tmp_path / "pid")))


async def test_a_program_that_never_stops_printing_is_ended_in_time(program: Program) -> None:
    message = await refusal(program("echo $$; exec yes"), timeout_s=0.3)
    assert "timed out" in message


async def test_asking_leaves_no_descriptor_behind(program: Program) -> None:
    path = program('echo \'{"name":"x"}\'')
    await introspect(path, environ=os.environ)
    before = descriptors()
    for _ in range(3):
        await introspect(path, environ=os.environ)
        await refusal(program("exit 3", name="failing"))
        await refusal(path.parent / "absent")
    assert descriptors() == before


async def test_a_visible_leaf_without_a_schema_fails_the_whole_load(loaded: Loading) -> None:
    with pytest.raises(SetupError) as caught:
        await loaded("ancient", "exclude: {tools: [old_way]}\n")
    assert '"old way"' in str(caught.value)
    assert "/ancient:" in str(caught.value)
    assert "no precomputed schema" in str(caught.value)
    assert "v0.9.0" in str(caught.value)


async def test_short_names_are_numbers_and_unknown_keys_are_ignored(loaded: Loading) -> None:
    application = await loaded("bakery")
    assert [tool.name for tool in application.tools] == ["bake", "rest"]
    assert (application.name, application.version) == ("bakery", "2.1.0")


FOREIGN = """#!/bin/sh
case "$1" in --fisk-introspect) {answer};; esac
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            "echo \"ls: unrecognized option '$1'\" >&2; exit 2",
            "it does not describe itself: it ended with status 2 (it printed: ls: unrecognized",
        ),
        (
            'echo "flag provided but not defined: -fisk-introspect" >&2; exit 64',
            "it does not describe itself: it ended with status 64 (it printed: flag provided but",
        ),
        ('echo "$1"', "decoding the introspection document failed: "),
    ],
)
async def test_a_program_written_for_something_else_is_told_from_one_that_failed(
    tmp_path: Path, answer: str, reason: str
) -> None:
    program = tmp_path / "tool"
    program.write_text(FOREIGN.replace("{answer}", answer))
    program.chmod(0o755)
    with pytest.raises(SetupError) as caught:
        await introspect(program, environ=os.environ)
    assert f"introspecting {program} failed: {reason}" in str(caught.value)
    assert "; name a program that answers --fisk-introspect, or write one around it" in str(
        caught.value
    )
