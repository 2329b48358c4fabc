"""The loggers of serving processes: structlog, imported without what only a terminal wants.

structlog imports Rich when it is there, to draw tracebacks with every local variable in them. That
takes longer than the rest of structlog and would put prompts and keys into a log.
"""

from __future__ import annotations

import sys

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

__all__ = ["BoundLogger", "get_logger", "structlog"]


def get_logger(name: str) -> BoundLogger:
    """Return the logger called ``name``."""
    return structlog.stdlib.get_logger(name)
