"""The listing that ``fisk-ai session ls`` prints, fitted to the terminal it is read on.

An id is never cut: it is there to be copied. What gives way is the prompt, then the model's name;
where even that is not enough each session takes two lines in place of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fisk_ai.cli.times import local_time, moment
from fisk_ai.render.tables import cut, fitted, table
from fisk_ai.sessions.store import RunInfo
from fisk_ai.text.sanitise import for_terminal

PROMPT_LIMIT = 50
"""Code points of a prompt in a listing."""

LABEL_LIMIT = 128
"""Code points of an id or a name: no id has more."""

_PROMPT_LEAST = 10
_MODEL_LEAST = 8
"""What may be left of the columns that give way, to tell rows apart."""

_EXTRAS: Mapping[str, Callable[[RunInfo], str]] = {
    "Agent": lambda info: label(info.agent),
    "Caller": lambda info: label(info.caller),
    "Created": lambda info: local_time(info.created),
}


def label(text: str) -> str:
    """Return an id or a name of a journal, fit for a cell or a sentence."""
    return for_terminal(text, LABEL_LIMIT)


def newest_first(rows: Sequence[RunInfo]) -> list[RunInfo]:
    """Return the sessions in the order of their last records."""
    return sorted(rows, key=_updated, reverse=True)


def listing(sessions: Sequence[RunInfo], *, width: int | None, extras: Sequence[str] = ()) -> str:
    """Return the sessions as a table of at most ``width`` columns; ``None`` is no limit.

    ``extras`` names further columns, of ``Agent``, ``Caller`` and ``Created``.
    """
    header = ("ID", "Model", "Status", "Updated", *extras, "Prompt")
    rows = [_row(info, extras) for info in sessions]
    if width is None:
        return table(header, rows)
    least = {len(header) - 1: _PROMPT_LEAST, 1: _MODEL_LEAST}
    fitting = fitted(header, rows, width=width, least=least)
    if fitting is not None:
        return table(header, fitting)
    return "\n".join(_two_lines(row, width) for row in rows)


def _row(info: RunInfo, extras: Sequence[str]) -> tuple[str, ...]:
    return (
        label(info.run_id),
        label(info.model),
        info.status,
        local_time(info.updated),
        *(_EXTRAS[name](info) for name in extras),
        for_terminal(info.prompt, PROMPT_LIMIT),
    )


def _two_lines(row: Sequence[str], width: int) -> str:
    session_id, model, status, updated, *rest = row
    described = "  ".join(("", status, updated, model, *rest))
    return f"{session_id}\n{cut(described, width)}"


def _updated(info: RunInfo) -> tuple[float, str]:
    written = moment(info.updated)
    return (written.timestamp() if written else 0.0), info.run_id
