"""The listing that ``fisk-ai session ls`` prints, fitted to the terminal it is read on.

An id is never cut: it is there to be copied. What gives way is the prompt, then the model's name;
where even that is not enough each session takes two lines in place of a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.cli.times import local_time
from fisk_ai.render.tables import cut, fitted, table
from fisk_ai.sessions.store import RunInfo
from fisk_ai.text.sanitise import for_terminal

PROMPT_LIMIT = 50
"""Code points of a prompt in a listing."""

CELL_LIMIT = 128
"""Code points of any other cell: an id has at most as many."""

HEADER = ("ID", "Model", "Status", "Updated", "Prompt")
_LEAST = {4: 10, 1: 8}
"""Columns that may be shortened, the first one first, and what is left to tell rows apart."""


def listing(sessions: Sequence[RunInfo], *, width: int | None) -> str:
    """Return the sessions as a table of at most ``width`` columns; ``None`` is no limit."""
    rows = [_row(info) for info in sessions]
    if width is None:
        return table(HEADER, rows)
    fitting = fitted(HEADER, rows, width=width, least=_LEAST)
    if fitting is not None:
        return table(HEADER, fitting)
    return "\n".join(_two_lines(row, width) for row in rows)


def _row(info: RunInfo) -> tuple[str, ...]:
    return (
        for_terminal(info.run_id, CELL_LIMIT),
        for_terminal(info.model, CELL_LIMIT),
        info.status,
        local_time(info.updated),
        for_terminal(info.prompt, PROMPT_LIMIT),
    )


def _two_lines(row: Sequence[str], width: int) -> str:
    session_id, model, status, updated, prompt = row
    return f"{session_id}\n{cut(f'  {status}  {updated}  {model}  {prompt}', width)}"
