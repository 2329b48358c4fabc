"""What a typed line means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.cli.slash import HELP, Line, read


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("", Line("nothing")),
        (" \t\n", Line("nothing")),
        ("say moo", Line("prompt", "say moo")),
        ("  indented\n  twice", Line("prompt", "  indented\n  twice")),
        ("//help me", Line("prompt", "/help me")),
        ("/exit", Line("exit")),
        (" /QUIT now ", Line("exit", "now")),
        ("/clear", Line("clear")),
        ("/clear  one\n  two ", Line("clear", "one\n  two")),
        ("/clear\none", Line("clear", "one")),
        ("/redo", Line("restart")),
        ("/Repeat", Line("restart")),
        ("/restart", Line("restart")),
        ("/help", Line("help")),
        ("/tmp/x is what?", Line("unknown", "/tmp/x")),
        ("/", Line("unknown", "/")),
    ],
)
def test_a_line_is_a_prompt_or_a_command(typed: str, line: Line) -> None:
    assert read(typed) == line


@given(st.text())
def test_whatever_is_typed_means_something(typed: str) -> None:
    line = read(typed)
    assert (line.meaning == "nothing") == (not typed.strip())
    if not typed.strip().startswith("/"):
        assert line.text in ("", typed)


def test_the_help_names_every_command() -> None:
    assert all(
        name in HELP for name in ("/clear", "/restart", "/redo", "/repeat", "/exit", "/quit")
    )


def test_the_help_fits_eighty_columns_and_says_that_ctrl_c_ends_the_chat() -> None:
    assert max(map(len, HELP.splitlines())) <= 80
    assert "chat ends there" in HELP
