"""Reading flags."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence

import pytest

from fisk_ai.cli.arguments import CommandParser, exported, parser_of, split_verb
from fisk_ai.cli.main import main
from fisk_ai.cli.tree import COMMANDS, Command, find
from fisk_ai.errors import UsageError

_GROUP = frozenset({"--config", "--state-dir"})


@pytest.mark.parametrize(
    ("argv", "verb", "rest"),
    [
        (["ls"], "ls", []),
        (["--config", "ls", "show", "x"], "show", ["--config", "ls", "x"]),
        (["--config=a", "rm", "--state-dir", "d"], "rm", ["--config=a", "--state-dir", "d"]),
        (["--help"], None, ["--help"]),
        (["--config"], None, ["--config"]),
        ([], None, []),
    ],
)
def test_the_verb_is_found_among_group_flags(
    argv: list[str], verb: str | None, rest: list[str]
) -> None:
    assert split_verb(argv, _GROUP) == (verb, rest)


@pytest.mark.parametrize("value", ["1", "true", "YES", "on", "anything"])
def test_an_exported_switch_is_on_whatever_it_says(value: str) -> None:
    assert exported({"VERBOSE": value}, "VERBOSE")


@pytest.mark.parametrize("environ", [{}, {"VERBOSE": ""}, {"VERBOSE": " False "}, {"VERBOSE": "0"}])
def test_an_exported_switch_can_be_off(environ: dict[str, str]) -> None:
    assert not exported(environ, "VERBOSE")


def _commands() -> Iterator[tuple[str, ...]]:
    for command in COMMANDS:
        if not command.module:
            continue
        verbs: Sequence[Command] = getattr(importlib.import_module(command.module), "VERBS", ())
        yield from ((command.name, verb.name) for verb in verbs if verb.module)
        if not verbs:
            yield (command.name,)


def _valued_flags() -> Iterator[tuple[str, ...]]:
    for words in _commands():
        command = find(COMMANDS, words[0])
        assert command is not None
        parser = parser_of(importlib.import_module(command.module).execute, *words[1:])
        for action in parser._actions:  # pyright: ignore[reportPrivateUsage] - argparse tells it nowhere else
            if action.option_strings and action.nargs is None:
                yield (*words, action.option_strings[-1])


def test_the_flags_of_every_command_are_looked_at() -> None:
    flags = set(_valued_flags())
    assert {("run", "--trace"), ("info", "--config"), ("session", "query", "--tool")} <= flags
    assert ("turn", "ls", "--channel") in flags


@pytest.mark.parametrize("words", tuple(_valued_flags()), ids=" ".join)
def test_no_flag_takes_a_value_that_is_no_text(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words[:-1], f"{words[-1]}=a\udcff"]) == 1
    assert capsys.readouterr().err == (
        f"fisk-ai: error: the value of {words[-1]} holds bytes that are no text in this locale; "
        "write it in the locale's encoding\n"
    )


@pytest.mark.parametrize("value", ["--dev", "-x", "-", "--dev=1"])
def test_a_value_may_begin_with_a_dash(value: str) -> None:
    parser = CommandParser("p", "d")
    parser.value("--input", "TEXT", "a text")
    parser.switch("--force", "a switch")
    read = parser.parse_args(["--input", value, "--force"])
    assert (read.input, read.force) == (value, True)


def test_a_flag_of_the_command_is_no_value_of_another() -> None:
    parser = CommandParser("p", "d")
    parser.value("--input", "TEXT", "a text")
    parser.switch("--force", "a switch")
    with pytest.raises(UsageError, match=r"write --input=VALUE where it is spelled like a flag"):
        parser.parse_args(["--input", "--force"])
    assert parser.parse_args(["--input=--force"]).input == "--force"
