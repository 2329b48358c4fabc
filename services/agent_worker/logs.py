"""Logs of the worker: one line per fact on stderr, as text or JSON, through structlog.

Also what libraries log through the standard library ends up here. No message content and no secret
is ever handed to a logger; this module adds nothing to an event but time, level, its logger, and
whose run it is of. People read text at a terminal, programs read JSON anywhere else.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Literal

from fisk_ai.serving.log import get_logger, structlog

if TYPE_CHECKING:
    from agent_worker.arguments import Arguments
    from agent_worker.settings import Settings

SERVICE = "agent-worker"
LogFormat = Literal["text", "json"]

HOSTED_LEVEL = "warning"
SERVED_LEVEL = "info"

_log = get_logger("agent_worker")


def begin(arguments: Arguments, settings: Settings) -> None:
    """Start logging as the host asked for, and tell of settings that nobody reads."""
    level = level_of(settings.log_level, hosted=arguments.hosted, verbose=arguments.verbose)
    configure(level, format_of(settings.log_format, hosted=arguments.hosted))
    for name in settings.unknown:
        _log.warning("an unknown setting is ignored; check its spelling", variable=name)


def level_of(chosen: str, *, hosted: bool, verbose: bool) -> str:
    """Return the level to log at: ``--verbose``, then the setting, then what suits the host."""
    if verbose:
        return "debug"
    return chosen or (HOSTED_LEVEL if hosted else SERVED_LEVEL)


def format_of(chosen: LogFormat | Literal[""], *, hosted: bool) -> LogFormat:
    """Return what to write: the setting, else text where a person reads along."""
    if chosen:
        return chosen
    return "text" if hosted or sys.stderr.isatty() else "json"


def tells_facts() -> bool:
    """Whether more than warnings is logged."""
    return logging.getLogger().isEnabledFor(logging.INFO)


def configure(level: str, log_format: LogFormat) -> None:
    """Send every log line of this process to stderr."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    rendering: list[structlog.typing.Processor] = (
        [_name_service, structlog.processors.JSONRenderer()]
        if log_format == "json"
        else [structlog.dev.ConsoleRenderer(colors=False)]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
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


def _name_service(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Say in a record whose it is: several services may write to one log."""
    return {"service": SERVICE, **event}
