"""Named places where a test may end or break the process; inert everywhere else.

A durability promise is only as good as the deaths it was tried with. Each point sits on a line
between two effects on the outside world. Arming is by environment variable, because the process
that dies is a real child::

    FISK_AI_FAULT = "journal.append.written:tool_result#2=kill"

kills the process with SIGKILL the second time it passes ``journal.append.written`` for a
``tool_result`` record; ``=raise`` raises :class:`InjectedFault` there instead. The part after the
colon and the count are optional. The variable is read once, at import. A value that arms nothing is
refused by :func:`check` and by every point: a promise would seem kept that was never tried.
"""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from fisk_ai.errors import SetupError

VARIABLE = "FISK_AI_FAULT"


class Point(StrEnum):
    """Every fault point of the product; tests generate their cases from this list."""

    JOURNAL_CREATE_LOCKED = "journal.create.locked"
    JOURNAL_CREATE_OPENED = "journal.create.opened"
    JOURNAL_APPEND_BEFORE = "journal.append.before"
    JOURNAL_APPEND_WRITTEN = "journal.append.written"
    JOURNAL_APPEND_SYNCED = "journal.append.synced"
    MODEL_BEFORE = "model.before"
    MODEL_AFTER = "model.after"
    TOOL_BEFORE = "tool.before"
    TOOL_AFTER = "tool.after"
    TASK_ACKED = "task.acked"
    TASK_TERMINAL_BEFORE = "task.terminal.before"
    TASK_TERMINAL_AFTER = "task.terminal.after"
    JOB_ACTIVE = "job.active"
    JOB_ANSWERED = "job.answered"
    JOB_STORED = "job.stored"
    TURN_TAKEN = "turn.taken"
    TURN_ACKED = "turn.acked"
    TURN_TERMINAL_BEFORE = "turn.terminal.before"
    TURN_TERMINAL_STORED = "turn.terminal.stored"
    TURN_SETTLED = "turn.settled"
    TURN_BURIED = "turn.buried"


class InjectedFault(Exception):
    """Raised by an armed point; derives from no error of ours, as a real bug would not."""


@dataclass(slots=True)
class _Armed:
    point: str
    detail: str
    remaining: int
    action: Literal["kill", "raise"]


_FORM = re.compile(
    r"(?P<point>[a-z.]+)(:(?P<detail>\w+))?(#(?P<nth>[1-9]\d{0,8}))?=(?P<action>kill|raise)"
)

_SHOWN_LIMIT: Final = 80
"""Characters that a refusal repeats."""


def _read(value: str) -> _Armed | None:
    """Return what a value arms; ``None`` when that is nothing, though it may well be meant."""
    match = _FORM.fullmatch(value)
    if match is None or match["point"] not in set(Point):
        return None
    action: Literal["kill", "raise"] = "kill" if match["action"] == "kill" else "raise"
    return _Armed(match["point"], match["detail"] or "", int(match["nth"] or 1), action)


_value = os.environ.get(VARIABLE, "")
_armed = _read(_value)


def check() -> None:
    """Refuse a value of the variable that arms no point; for the start of a process.

    Raises:
        SetupError: it is one.
    """
    if _value and _armed is None:
        raise SetupError(
            f"{VARIABLE} {_value[:_SHOWN_LIMIT]!a} names no fault point; unset it, or write"
            " POINT=kill or POINT=raise",
            key=VARIABLE,
        )


def point(name: Point, detail: str = "") -> None:
    """Pass a fault point; ``detail`` says which effect, such as a record's kind.

    Raises:
        InjectedFault: the point is armed to raise.
        SetupError: as :func:`check`.
    """
    check()
    if _armed is None or _armed.point != name or _armed.detail not in ("", detail):
        return
    _armed.remaining -= 1
    if _armed.remaining != 0:
        return
    if _armed.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise InjectedFault(f"injected at {name}:{detail}")
