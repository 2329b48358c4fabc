"""How wide what is written to a stream may be; the one place that asks a terminal for its size.

Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO

UNKNOWN_COLUMNS = 80
"""What a terminal has that does not say its size, since it may have fewer than a wide one."""

MOST_COLUMNS = 1000
"""Wider lines nobody reads, and an exported number may be any."""


def columns_of(stream: TextIO) -> int:
    """Return the columns to lay text out for: ``COLUMNS``, else those of the stream's terminal."""
    return min(_exported() or _asked(stream) or UNKNOWN_COLUMNS, MOST_COLUMNS)


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; ``None`` when it is none."""
    return columns_of(sys.stdout) if sys.stdout.isatty() else None


def _exported() -> int:
    try:
        return max(0, int(os.environ.get("COLUMNS", "")))
    except ValueError:
        return 0


def _asked(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # no descriptor, or one of no terminal
        return 0
