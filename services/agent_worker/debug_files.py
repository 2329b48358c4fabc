"""The files in which a worker writes down its model's traffic, where it was asked to.

They are made before anything else is built, so that a place that cannot be written stops the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_worker.arguments import Arguments
from fisk_ai.config import Config
from fisk_ai.serving.log import get_logger
from fisk_ai.version import __version__

if TYPE_CHECKING:
    from fisk_ai.llm.http_debug import HttpDebug
    from fisk_ai.llm.provider import HttpMiddleware
    from fisk_ai.llm.trace import TraceFile

_log = get_logger("agent_worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugFiles:
    """The open files; ``None`` for one nobody asked for."""

    http: HttpDebug | None = None
    trace: TraceFile | None = None

    @property
    def middlewares(self) -> tuple[HttpMiddleware, ...]:
        """What sees the model's traffic, the outermost first."""
        files = (self.http, self.trace)
        return tuple(file.middleware for file in files if file is not None)

    async def close(self) -> None:
        """Finish both files, and say of one that has a hole why it ends early."""
        for name, file in (("--http-debug", self.http), ("--trace", self.trace)):
            if file is None:
                continue
            await file.close()
            failure = file.take_failure()
            if failure:
                _log.warning("a debug file is incomplete", argument=name, error=failure)


def open_debug_files(config: Config, arguments: Arguments) -> DebugFiles:
    """Make the files that the command line names.

    Raises:
        SetupError: one cannot be written.
    """
    return DebugFiles(http=_http_debug(arguments), trace=_trace(config, arguments))


def _http_debug(arguments: Arguments) -> HttpDebug | None:
    if arguments.http_debug is None:
        return None
    from fisk_ai.llm.http_debug import HttpDebug  # noqa: PLC0415 - for who debugs alone

    return HttpDebug.create(arguments.http_debug)


def _trace(config: Config, arguments: Arguments) -> TraceFile | None:
    if arguments.trace is None:
        return None
    from fisk_ai.llm.trace import TraceFile  # noqa: PLC0415 - likewise

    return TraceFile.create(
        arguments.trace, model=config.llm.model, config=str(config.source), version=__version__
    )
