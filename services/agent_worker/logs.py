"""Logs of the worker: one line per fact on stderr, as text or JSON, through structlog.

Also what libraries log through the standard library ends up here. No message content and no secret
is ever handed to a logger; this module adds nothing to an event but time, level and its logger.
"""

from __future__ import annotations

import logging
import sys

from agent_worker.settings import LogFormat
from fisk_ai.serving.log import structlog

HOSTED_LEVEL = "warning"
SERVED_LEVEL = "info"


def level_of(chosen: str, *, hosted: bool, verbose: bool) -> str:
    """Return the level to log at: ``--verbose``, then the setting, then what suits the host."""
    if verbose:
        return "debug"
    return chosen or (HOSTED_LEVEL if hosted else SERVED_LEVEL)


def configure(level: str, log_format: LogFormat) -> None:
    """Send every log line of this process to stderr."""
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.WARNING)
