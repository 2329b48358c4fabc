"""The same program in all three libraries: described alike, called alike, as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

PROGRAMS = Path(__file__).parent / "programs"
LIBRARIES = ("typer", "click", "argparse")


def call(library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAMS / f"{library}_program.py"
    environment = {**os.environ, "FISK_AI": "1", "LLMFORMAT": "1"}
    return subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def document(library: str) -> dict[str, object]:
    answer = call(library, "--fisk-introspect")
    assert (answer.returncode, answer.stderr) == (0, "")
    return cast("dict[str, object]", json.loads(answer.stdout))


def result(library: str, *arguments: str) -> dict[str, object]:
    answer = call(library, *arguments)
    assert answer.returncode == 0, answer.stderr
    return cast("dict[str, object]", json.loads(answer.stdout))


def test_the_three_libraries_give_one_document_byte_for_byte() -> None:
    first, second, third = (call(library, "--fisk-introspect").stdout for library in LIBRARIES)
    assert first == second == third
    assert first.endswith("}\n")


def test_the_document_holds_what_an_agent_needs() -> None:
    described = document("click")
    assert described["name"] == "sample"
    assert described["version"] == "1.2.3"
    assert described["flags"] == [
        {
            "name": "token",
            "help": "Who asks.",
            "required": True,
            "boolean": False,
            "cumulative": False,
        },
        {
            "name": "verbose",
            "help": "Say more.",
            "short": ord("v"),
            "boolean": True,
            "negatable": True,
            "cumulative": False,
        },
    ]
    commands = cast("list[dict[str, object]]", described["commands"])
    assert [command["name"] for command in commands] == ["say", "teach", "ghost", "user"]
    say, teach, ghost, user = commands
    assert say["help_long"] == "Say something.\n\nIt is printed as JSON."
    assert teach["tags"] == ["ai:confirm", "writes"]
    assert teach["help"] == "Learn jokes. (deprecated)"
    assert ghost["hidden"] is True
    assert [child["name"] for child in cast("list[dict[str, object]]", user["commands"])] == ["add"]


def test_a_schema_lists_arguments_before_options_and_hides_what_is_hidden() -> None:
    commands = cast("list[dict[str, object]]", document("click")["commands"])
    assert commands[0]["restricted_schema"] == {
        "additionalProperties": False,
        "properties": {
            "colour": {
                "description": "In which colour.",
                "enum": ["red", "blue"],
                "type": "string",
            },
            "many": {"description": "More.", "type": "boolean"},
            "message": {"description": "What to say.", "type": "string"},
            "pitch": {"description": "How high.", "type": "number"},
            "shout": {"description": "Louder.", "type": "boolean"},
            "tag": {"description": "Labels.", "items": {"type": "string"}, "type": "array"},
            "times": {"description": "How often.", "type": "integer"},
        },
        "required": ["message"],
        "type": "object",
    }
    assert cast("dict[str, object]", commands[1]["restricted_schema"])["required"] == [
        "jokes",
        "name",
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_option_of_several_words_at_once_is_left_out(library: str) -> None:
    commands = cast("list[dict[str, object]]", document(library)["commands"])
    flags = cast("list[dict[str, object]]", commands[0]["flags"])
    assert "pair" not in [flag["name"] for flag in flags]


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_options_of_the_root_are_accepted_behind_the_command(library: str) -> None:
    answer = result(library, "say", "--token=abc", "--verbose", "--times=2", "--", "-x")
    assert answer["root"] == {"token": "abc", "verbose": True}
    assert (answer["message"], answer["times"]) == ("-x", 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_negated_option_of_the_root_is_moved_too(library: str) -> None:
    answer = result(library, "user", "add", "--token=abc", "--no-verbose", "--", "Ann")
    assert answer == {"root": {"token": "abc", "verbose": False}, "name": "Ann"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_option_that_the_command_declares_itself_stays_with_it(library: str) -> None:
    arguments = ("teach", "--token=abc", "--name=Ann", "--verbose=high", "--", "one", "two")
    answer = result(library, *arguments)
    assert answer["level"] == "high"
    assert answer["root"] == {"token": "abc", "verbose": False}
    assert answer["jokes"] == ["one", "two"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_behind_the_double_dash_is_moved(library: str) -> None:
    answer = result(library, "say", "--token=abc", "--", "--verbose")
    assert answer["message"] == "--verbose"
    assert answer["root"] == {"token": "abc", "verbose": False}


@pytest.mark.parametrize("library", LIBRARIES)
def test_lists_flags_counters_and_choices_arrive(library: str) -> None:
    answer = result(
        library,
        "say",
        "--token=abc",
        "--colour=blue",
        "--pitch=2.5",
        "--tag=a",
        "--tag=b",
        "--shout",
        "--many",
        "--",
        "hello",
    )
    del answer["root"]
    assert answer == {
        "message": "hello",
        "colour": "blue",
        "times": 1,
        "pitch": 2.5,
        "tag": ["a", "b"],
        "shout": True,
        "secret": "",
        "pair": [1, 2],
        "many": 1,
    }


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_person_may_still_put_the_options_first(library: str) -> None:
    answer = result(library, "--token", "abc", "--verbose", "user", "add", "Ann")
    assert answer == {"root": {"token": "abc", "verbose": True}, "name": "Ann"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_wrong_value_fails_as_the_library_says_it(library: str) -> None:
    answer = call(library, "say", "--token=abc", "--times=often", "--", "x")
    assert answer.returncode == 2
    assert "--times" in answer.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_prompt_without_a_terminal_ends_instead_of_waiting(library: str) -> None:
    assert call(library, "teach", "--token=abc", "--", "one").returncode != 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_program_pays_for_no_agent(library: str) -> None:
    code = (
        f"import sys, fisk_ai.adapters.{library}\n"
        "print(sorted(n for n in sys.modules if n.startswith('fisk_ai')))\n"
        "heavy = {'anthropic', 'pydantic', 'nats', 'msgspec', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    ours, heavy = answer.stdout.splitlines()
    for name in cast("list[str]", json.loads(ours.replace("'", '"'))):
        assert name in ("fisk_ai", "fisk_ai.errors", "fisk_ai.version") or name.startswith(
            "fisk_ai.adapters"
        )
    assert heavy == "[]"
