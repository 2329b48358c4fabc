"""Reading flags."""

from __future__ import annotations

import pytest

from fisk_ai.cli.arguments import exported, split_verb

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
