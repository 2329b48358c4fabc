"""A listing fits the terminal it is read on, and an id can be copied from it."""

from __future__ import annotations

import pytest

from fisk_ai.cli.session_table import listing
from fisk_ai.render.tables import cell_width
from fisk_ai.sessions.store import RunInfo

_INFO = RunInfo(
    run_id="t-" + "a" * 64,
    created="2026-03-04T10:11:12Z",
    updated="2026-03-04T10:11:12Z",
    status="completed",
    model="a-model-with-a-long-name",
    prompt="say moo to everybody who is in the stable",
)


def _wide(text: str) -> int:
    return max(cell_width(line) for line in text.splitlines())


def test_without_a_terminal_nothing_is_shortened() -> None:
    text = listing([_INFO], width=None)
    assert all(value in text for value in (_INFO.run_id, _INFO.model, _INFO.prompt))


@pytest.mark.parametrize("width", [128, 140, 150, 160, 200])
def test_a_row_fits_and_keeps_its_whole_id(width: int) -> None:
    text = listing([_INFO], width=width)
    assert text.startswith("╭")
    assert _wide(text) <= width
    assert f" {_INFO.run_id} " in text
    assert " completed " in text
    assert "say moo" in text


@pytest.mark.parametrize("width", [70, 80, 127])
def test_a_narrow_terminal_gets_two_lines_for_a_session(width: int) -> None:
    lines = listing([_INFO, _INFO], width=width).splitlines()
    assert len(lines) == 4
    assert lines[0] == lines[2] == _INFO.run_id
    assert lines[1].startswith("  completed  2026-03-04 ")
    assert _wide("\n".join(lines)) <= width
