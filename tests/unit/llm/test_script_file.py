"""A script is read strictly: a misspelt key is an error and never a turn that does not play."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.llm.model import Message, Request, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from fisk_ai.llm.provider import ProviderConfig
from fisk_ai.llm.scripted.document import SCRIPT_LIMIT_BYTES
from fisk_ai.llm.scripted.provider import build
from fisk_ai.llm.scripted.script import Script, load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def write(folder: Path, text: str) -> Path:
    path = folder / "script.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str) -> Script:
    return load(write(folder, text))


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read(folder, text)
    assert refused.value.key == "llm.options.script"
    start = f"script {folder / 'script.yaml'}:"
    words = str(refused.value)
    assert words.startswith(start)
    return words.removeprefix(start).lstrip()


def test_a_turn_is_thought_then_said_then_called_in_that_order(tmp_path: Path) -> None:
    (turn,) = read(
        tmp_path,
        """
turns:
  - call:
      - tool: say
        input: {z: 1, a: {b: [true, null, 1.5]}}
      - tool: think
    say: Here is one
    think: Hm
    delay: 250ms
    usage: {input: 120, output: 15, cache_read: 1, cache_create: 2, thinking: 3}
""",
    ).turns
    assert turn.content == (
        ThinkingBlock("Hm"),
        TextBlock("Here is one"),
        ToolUseBlock("scripted_1_1", "say", b'{"z":1,"a":{"b":[true,null,1.5]}}'),
        ToolUseBlock("scripted_1_2", "think", b"{}"),
    )
    assert turn.stop_reason == "tool_use"
    assert turn.usage == Usage(input=120, output=15, cache_read=1, cache_create=2, thinking=3)
    assert turn.delay_s == 0.25


def test_a_turn_without_calls_ends_the_exchange(tmp_path: Path) -> None:
    (turn,) = read(tmp_path, "turns: [{say: Moo}]").turns
    assert (turn.stop_reason, turn.delay_s, turn.failure) == ("end_turn", 0, None)


def test_plain_words_and_dates_in_an_input_stay_text(tmp_path: Path) -> None:
    text = "turns: [{call: [{tool: a, input: {answer: no, day: 2024-01-01, n: 1.5}}]}]"
    (turn,) = read(tmp_path, text).turns
    assert turn.content == (
        ToolUseBlock("scripted_1_1", "a", b'{"answer":"no","day":"2024-01-01","n":1.5}'),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "turns:\n  - say: a\n  - sya: b\n",
            'turn 2 (line 3): unknown key "sya"; a turn has when, think, say, call, usage, delay',
        ),
        ("# later\nturns: []\n", "line 2: turns is empty; a script needs a turn to play"),
        ("turns: []\nturn: 1\n", 'line 2: unknown key "turn"; a script has turns'),
        ("# an agent\nidentity: x\n", 'line 2: unknown key "identity"; a script has turns'),
        (
            "turns:\n  - say: a\n    usage: {inputs: 1}\n",
            'turn 1 (line 3): unknown key "inputs"; usage has input, output, cache_read',
        ),
        (
            "turns:\n  - call: [{tool: a, args: {}}]\n",
            'turn 1 (line 2): unknown key "args"; a call has tool, input',
        ),
        (
            "turns:\n  - call:\n      tool: a\n",
            (
                "turn 1 (line 2): call must be a list, not a mapping of keys to values: begin each"
                " entry with a dash"
            ),
        ),
        (
            "turns:\n  - say: a\n  - call:\n    - {tool: a}\n    - b\n",
            "turn 2 (line 5): call 2 must be a mapping of keys to values, not text",
        ),
        ("turns: {}\n", "line 1: turns must be a list, not a mapping of keys to values"),
        ("turns:\n  - moo\n", "turn 1 (line 2): a turn must be a mapping of keys to values"),
        ("turns:\n  - say:\n", "turn 1 (line 2): say must be text, not nothing"),
        ("turns:\n  - call: [{tool: ''}]\n", "turn 1 (line 2): tool of call 1 must not be empty"),
        (
            "turns:\n  - call: [{input: {}}]\n",
            "turn 1 (line 2): a call needs the key tool",
        ),
        (
            "turns:\n  - say: 12\n",
            "turn 1 (line 2): say must be text, not a whole number: put it in quotes",
        ),
        (
            "turns:\n  - say: a\n    usage: {input: -1}\n",
            "turn 1 (line 3): input of usage must not be negative",
        ),
        ("turns:\n  - {say: a, delay: -5s}\n", "turn 1 (line 2): delay must not be negative"),
        ("turns:\n  - {say: a, fail: timeout}\n", "turn 1 (line 2): fail stands alone"),
        ("turns:\n  - {call: [{tool: a}], fail: timeout}\n", "turn 1 (line 2): fail stands alone"),
        ("turns:\n  - fail: broken\n", "turn 1 (line 2): fail must be one of rate_limited,"),
        ("turns:\n  - think: a\n", "turn 1 (line 2): a turn needs say, call or fail"),
        ("turns:\n  - {}\n", "turn 1 (line 2): a turn needs say, call or fail"),
        ("turns:\n  - {say: a, when: '('}\n", "turn 1 (line 2): when is no regular expression"),
        ("turns:\n  - {say: a, when: '(?=a)'}\n", "turn 1 (line 2): when is no regular expression"),
        ("turns:\n  - {say: a, delay: soon}\n", "turn 1 (line 2): "),
        ("turns:\n  - call: [{tool: a, input: {x: .nan}}]\n", "turn 1 (line 2): input of call 1: "),
        ("turns:\n  - say: a\n  say: b\n", "3:3: "),
        ("turns:\n  - say: a\n    say: b\n", '3:5: key "turns[0].say" is written twice'),
        ("turns:\n  - !!python/object:os.system {}\n", "2:5: custom tags"),
        ("- say: a\n", "1:1: the file must be a mapping"),
        ("", "is empty"),
        ("# nothing yet\n", "is empty"),
        ("{}", "line 1: a script needs the key turns"),
        ("turns: " + "[" * 5000, "1:1007: the file is nested too deep"),
    ],
)
def test_a_script_that_cannot_be_meant_is_refused_with_its_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    assert refusal(tmp_path, text).startswith(reason)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"script .*absent\.yaml: cannot be read"):
        load(tmp_path / "absent.yaml")


def test_a_name_no_file_can_have_is_refused_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file name holds a null character"):
        load(tmp_path / "a\0b")


def test_a_pipe_is_no_script_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is no regular file; save what it holds to one"):
        load(tmp_path / "pipe")


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_bytes(b"turns: [{say: \xff}]")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 14"):
        load(path)


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_bytes(b"#" * (SCRIPT_LIMIT_BYTES + 1))
    with pytest.raises(ConfigError, match="is over"):
        load(path)


async def test_a_relative_path_starts_at_the_configuration_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere", "turns: [{say: the wrong one}]")
    monkeypatch.chdir(tmp_path / "elsewhere")
    write(tmp_path, "turns: [{say: found}]")
    model = build(ProviderConfig(directory=str(tmp_path), options={"script": "script.yaml"}))
    request = Request("any", (), (Message("user", (TextBlock("Hi"),)),), (), 100)
    assert (await model.call(request)).content == (TextBlock("found"),)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "llm.options.script"),
        ({"script": ""}, "llm.options.script"),
        ({"script": 5}, "llm.options.script"),
        ({"script": "a", "speed": 1}, "llm.options.speed"),
    ],
)
def test_options_are_read_strictly(options: dict[str, object], key: str) -> None:
    with pytest.raises(ConfigError, match="invalid scripted llm options") as refused:
        build(ProviderConfig(options=options))
    assert refused.value.key == key


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.yaml")), ids=str)
def test_every_script_of_the_examples_can_be_played(path: Path) -> None:
    if path.read_text(encoding="utf-8").find("\nturns:") >= 0:
        assert load(path).turns
