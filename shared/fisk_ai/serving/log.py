"""The loggers of serving processes: structlog, imported without what only a terminal wants.

structlog imports Rich when it is there, to draw tracebacks with every local variable in them. That
takes longer than the rest of structlog and would put prompts and keys into a log.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fisk_ai.text.sanitise import for_terminal

if TYPE_CHECKING:
    from fisk_ai.serving.contract import Work

_HIDDEN = "rich"

_hide = _HIDDEN not in sys.modules
if _hide:
    sys.modules[_HIDDEN] = None  # pyright: ignore[reportArgumentType] - None blocks an import
try:
    import structlog
    from structlog.stdlib import BoundLogger
finally:
    if _hide:
        del sys.modules[_HIDDEN]

__all__ = ["BoundLogger", "begin_run", "bind_session", "get_logger", "structlog"]

NAME_LIMIT = 128
"""Code points of a name that somebody else chose."""


def get_logger(name: str) -> BoundLogger:
    """Return the logger called ``name``."""
    return structlog.stdlib.get_logger(name)


def begin_run(work: Work, channel: str) -> None:
    """Have every record of this task, and of the tasks it starts, say whose run it is of."""
    checkpoint = work.checkpoint
    known = {
        "channel": channel,
        "session": checkpoint.resume_id if checkpoint is not None else "",
        "request": (checkpoint.request if checkpoint is not None else "") or work.claimed_by,
        "caller": for_terminal(work.caller.name, NAME_LIMIT),
    }
    structlog.contextvars.bind_contextvars(**{name: it for name, it in known.items() if it})


def bind_session(session_id: str) -> None:
    """Have later records of this run name the session that it is in."""
    structlog.contextvars.bind_contextvars(session=session_id)
