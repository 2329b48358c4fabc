"""How an argparse parser is read: what is described, left out, warned of and refused."""

from __future__ import annotations

import argparse
import json
import sys
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.adapters.argparse import parse_args, tags
from fisk_ai.adapters.argparse_reading import ParserReader
from fisk_ai.adapters.program import Command, Parameter, Program, check


def read(parser: argparse.ArgumentParser) -> Program:
    return ParserReader().program(parser, name="sample", version="")


def options(command: Command | Program) -> dict[str, Parameter]:
    return {option.name: option for option in command.options}


def single(parser: argparse.ArgumentParser) -> Command:
    program = read(parser)
    assert program.is_single
    return program.commands[0]


def test_a_program_without_commands_is_one_command_of_its_own_name() -> None:
    parser = argparse.ArgumentParser(description="Shouts.")
    parser.add_argument("words", nargs="*", type=int)
    program = ParserReader().program(parser, name="my.tool", version="3")
    assert (program.is_single, program.options, program.version) == (True, (), "3")
    (command,) = program.commands
    assert (command.name, command.help) == ("my_tool", "Shouts.")
    (words,) = command.arguments
    assert (words.kind, words.is_cumulative, words.is_required) == ("integer", True, False)


def test_help_version_and_what_is_made_from_them_are_never_described() -> None:
    class Licence(argparse._VersionAction):  # pyright: ignore[reportPrivateUsage] - as people do
        pass

    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="version", version="1")
    parser.add_argument("--licence", action=Licence, version="2")
    parser.add_argument("--real")
    assert list(options(single(parser))) == ["real"]


def test_an_option_is_named_by_its_longest_long_form() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-l", "--lang", "--language", dest="tongue")
    (option,) = single(parser).options
    assert (option.name, option.short) == ("language", "l")


def test_switches_are_flags_and_only_a_boolean_option_has_a_negation() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--on", action="store_true", default=True)
    parser.add_argument("--quiet", action="store_false")
    parser.add_argument("--fast", action="store_const", const="fast")
    parser.add_argument("--also", action="append_const", const="x")
    parser.add_argument("--more", action="count", default=0)
    parser.add_argument("--loud", action=argparse.BooleanOptionalAction, default=True, help="L.")
    found = options(single(parser))
    assert {option.kind for option in found.values()} == {"boolean"}
    assert not any(option.is_cumulative for option in found.values())
    assert [name for name, option in found.items() if option.is_negatable] == ["loud"]
    assert {name: option.defaults for name, option in found.items() if option.defaults} == {
        "on": ("true",),
        "loud": ("true",),
    }
    assert found["loud"].help == "L."


def test_a_repeated_option_is_cumulative_and_one_of_several_words_is_left_out() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tag", action="append")
    parser.add_argument("--one", nargs=1)
    parser.add_argument("--maybe", nargs="?", const="c")
    parser.add_argument("--pair", nargs=2)
    parser.add_argument("--all", nargs="*", action="extend")
    parser.add_argument("-s")
    program = read(parser)
    found = options(program.commands[0])
    assert [(name, option.is_cumulative) for name, option in found.items()] == [
        ("tag", True),
        ("one", False),
        ("maybe", False),
    ]
    assert program.warnings == (
        "sample: option --pair takes several words at once",
        "sample: option --all takes several words at once",
        "sample: option -s has no long form",
    )


def test_choices_are_an_enumeration_of_texts() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--level", type=int, choices=range(1, 4), default=2)
    (level,) = single(parser).options
    assert (level.kind, level.choices, level.defaults) == ("string", ("1", "2", "3"), ("2",))


def test_help_reads_as_argparse_prints_it() -> None:
    parser = argparse.ArgumentParser(prog="p")
    parser.add_argument(
        "--size", type=int, default=3, help="%(type)s of %(prog)s, %(default)s: 100%%"
    )
    parser.add_argument("--odd", help="100% sure")
    found = options(single(parser))
    assert found["size"].help == "int of p, 3: 100%"
    assert found["odd"].help == "100% sure"


def test_what_is_suppressed_is_hidden() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--secret", help=argparse.SUPPRESS)
    commands = parser.add_subparsers()
    commands.add_parser("seen").add_argument("--inner", help=argparse.SUPPRESS)
    commands.add_parser("ghost", help=argparse.SUPPRESS)
    program = read(parser)
    assert [command.is_hidden for command in program.commands] == [False, True]
    assert options(program)["secret"].is_hidden
    assert options(program.commands[0])["inner"].is_hidden


def test_a_command_is_told_by_its_list_entry_and_by_its_description() -> None:
    commands = (parser := argparse.ArgumentParser()).add_subparsers()
    commands.add_parser("both", help="Short.", description="Long\nwords.")
    commands.add_parser("only", description="First\nline.\n\nSecond.")
    commands.add_parser("none")
    told = [(command.help, command.help_long) for command in read(parser).commands]
    assert told == [
        ("Short.", "Long\nwords."),
        ("First line.", "First\nline.\n\nSecond."),
        ("", ""),
    ]


def test_an_alias_makes_no_second_command() -> None:
    commands = (parser := argparse.ArgumentParser()).add_subparsers()
    commands.add_parser("remove", aliases=["rm", "delete"])
    assert [command.name for command in read(parser).commands] == ["remove"]


def test_tags_stand_on_a_parser_or_on_the_function_it_hands_on() -> None:
    @tags("ai:confirm")
    def work() -> None: ...

    commands = (parser := argparse.ArgumentParser()).add_subparsers()
    tags("ai:destructive")(commands.add_parser("one")).set_defaults(func=work)
    tags("ai:deny", "b")(commands.add_parser("two"))
    found = [command.tags for command in read(parser).commands]
    assert found == [("ai:destructive", "ai:confirm"), ("ai:deny", "b")]


def test_what_an_agent_cannot_give_is_told_to_the_author() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    group = parser.add_subparsers().add_parser("group")
    group.add_argument("--realm", required=True)
    leaf = group.add_subparsers().add_parser("leaf")
    leaf.add_argument("rest", nargs=argparse.REMAINDER)
    program = read(parser)
    assert program.warnings == (
        "sample: argument target of the root cannot be given",
        "group leaf: argument rest takes the rest of the line",
        "group: required option --realm of a group cannot be given",
    )
    assert program.commands[0].commands[0].arguments == ()


@pytest.mark.parametrize("where", ["root", "command"])
def test_a_parser_that_reads_files_named_in_arguments_is_refused(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser(fromfile_prefix_chars="@" if where == "root" else None)
    parser.add_subparsers().add_parser(
        "leaf", fromfile_prefix_chars="@" if where == "command" else None
    )
    with pytest.raises(SystemExit) as ended:
        parse_args(parser, ["leaf"], name="sample")
    assert ended.value.code == 1
    assert "fromfile_prefix_chars" in capsys.readouterr().err


def test_what_is_no_parser_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_args(cast("argparse.ArgumentParser", print), [])
    assert capsys.readouterr().err == (
        "fisk-ai: error: parse_args() of fisk_ai.adapters.argparse takes an"
        " argparse.ArgumentParser, not the function print: make it a command of the library first\n"
    )


def test_the_program_parses_as_before_when_a_person_calls_it() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root")
    parser.add_subparsers().add_parser("leaf").add_argument("name")
    assert vars(parse_args(parser, ["--root", "r", "leaf", "n"])) == {"root": "r", "name": "n"}
    assert vars(parse_args(parser, ["leaf", "--root=r", "--", "-n"])) == {"root": "r", "name": "-n"}


def test_introspection_prints_the_document_and_parses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--needed", required=True)
    monkeypatch.setattr(sys, "argv", ["tool.py", "--fisk-introspect"])
    with pytest.raises(SystemExit) as ended:
        parse_args(parser)
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["name"] == "tool"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="argparse knows it from Python 3.13 on")
def test_what_is_deprecated_says_so() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    old = commands.add_parser("old", help="Old.", deprecated=True)  # pyright: ignore[reportCallIssue] - 3.13
    old.add_argument("--way", help="A way.", deprecated=True)  # pyright: ignore[reportCallIssue] - 3.13
    (command,) = read(parser).commands
    assert command.help == "Old. (deprecated)"
    assert options(command)["way"].help == "A way. (deprecated)"


_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)


@given(
    st.dictionaries(
        _NAMES,
        st.sampled_from(["store", "store_true", "append", "count"]),
        min_size=1,
        max_size=6,
    ).filter(lambda made: not {"help", "h"} & made.keys()),
    st.text(max_size=40),
)
def test_whatever_a_parser_declares_is_described_and_understood(
    declared: dict[str, str], text: str
) -> None:
    parser = argparse.ArgumentParser()
    for name, action in declared.items():
        parser.add_argument(f"--{name}", action=action, help=text.replace("%", "%%"))
    program = read(parser)
    check(program)
    found = options(program.commands[0])
    assert list(found) == list(declared)
    given_words = [
        f"--{name}" if option.kind == "boolean" else f"--{name}=-x"
        for name, option in found.items()
    ]
    parsed = vars(parser.parse_args(given_words))
    assert len(parsed) == len({name.replace("-", "_") for name in declared})
    assert all(option.help == text for option in found.values())
