"""What the log of a worker says of its end: the error behind a traceback, else its last lines.

A person reads the error alone; its frames are in the log, which ``--verbose`` shows.
"""

from __future__ import annotations

import os
import re
from typing import IO

from fisk_ai.text.sanitise import for_display, for_terminal
from fisk_ai.text.trim import AROUND_BYTES, last_bytes

TAIL_BYTES = 4_000
TRACEBACK_BYTES = 64_000
TAIL_LINES = 20
LINE_LIMIT = 400
"""How much of a dead worker's log is worth a person's screen."""

_TRACEBACK = re.compile(
    r"(?s)(?:.*^Traceback \(most recent call last\):\n|\A(?=  File))((?: [^\n]*\n)+)(\S.*)",
    re.MULTILINE,
)
"""The last traceback: lines of frames, which are indented, and behind them its error.

A program that is none has a frame alone, which begins the log.
"""

_NEXT_ENTRY = re.compile(r"^\d{4}-\d\d-\d\dT\S+ \[", re.MULTILINE)
"""How a line of the worker's own log begins."""


def tail(log: IO[bytes] | None) -> list[str]:
    """Return the last lines of a log, sanitised; none where it went to the terminal."""
    lines = for_display(_end_of(log, TAIL_BYTES)).splitlines()
    return [for_terminal(line, LINE_LIMIT) for line in lines if line.strip()][-TAIL_LINES:]


def error(log: IO[bytes] | None, program: str) -> str:
    """Return the whole error behind the last traceback, as one line; empty without one.

    Where it came through ``program``, a file of a person's own, its line there stands behind it.
    """
    found = _TRACEBACK.search(_end_of(log, TRACEBACK_BYTES))
    if found is None:
        return ""
    lines = (line.strip() for line in _NEXT_ENTRY.split(found[2])[0].splitlines())
    return for_terminal("; ".join(filter(None, lines)), LINE_LIMIT) + _place(found[1], program)


def _place(frames: str, program: str) -> str:
    lines = re.findall(rf'^  File "{re.escape(program)}", line (\d+)', frames, re.MULTILINE)
    return f" ({for_terminal(program, LINE_LIMIT)}, line {lines[-1]})" if lines else ""


def _end_of(log: IO[bytes] | None, size_bytes: int) -> str:
    if log is None:
        return ""
    start = max(0, os.fstat(log.fileno()).st_size - size_bytes - AROUND_BYTES)
    end = os.pread(log.fileno(), size_bytes + AROUND_BYTES, start)
    return last_bytes(end, size_bytes).decode("utf-8", "replace")
