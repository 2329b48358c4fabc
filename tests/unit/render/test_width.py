"""How wide the place is that something is written to."""

from __future__ import annotations

import io
import os
import pty
import termios
from collections.abc import Callable, Iterator
from typing import TextIO

import pytest

from fisk_ai.render.width import MOST_COLUMNS, UNKNOWN_COLUMNS, columns_of


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], TextIO]]:
    """Open terminals of so many columns; nothing is exported."""
    monkeypatch.delenv("COLUMNS", raising=False)
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w", encoding="utf-8") as stream:

        def sized(columns: int) -> TextIO:
            termios.tcsetwinsize(follower, (24, columns))
            return stream

        yield sized
    os.close(leader)


def test_a_terminal_is_asked_for_its_own_size(terminal: Callable[[int], TextIO]) -> None:
    assert columns_of(terminal(57)) == 57
    assert columns_of(terminal(133)) == 133


@pytest.mark.parametrize(("exported", "columns"), [("40", 40), ("0", 57), ("-3", 57), ("x", 57)])
def test_an_exported_number_of_columns_counts_first(
    terminal: Callable[[int], TextIO],
    monkeypatch: pytest.MonkeyPatch,
    *,
    exported: str,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", exported)
    assert columns_of(terminal(57)) == columns


def test_absurd_numbers_are_bounded(
    terminal: Callable[[int], TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "999999999")
    assert columns_of(terminal(57)) == MOST_COLUMNS


def test_what_does_not_say_its_size_has_a_usual_one(terminal: Callable[[int], TextIO]) -> None:
    assert columns_of(terminal(0)) == UNKNOWN_COLUMNS
    assert columns_of(io.StringIO()) == UNKNOWN_COLUMNS
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    assert columns_of(closed) == UNKNOWN_COLUMNS
