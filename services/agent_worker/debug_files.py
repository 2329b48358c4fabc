"""The files in which a worker writes down its model's traffic, where it was asked to.

They are made last of all that a worker starts with: one that is refused leaves none, and a place
that cannot be written refuses it all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_worker.arguments import Arguments
from fisk_ai.config import Config
from fisk_ai.errors import SetupError
from fisk_ai.serving.log import get_logger
from fisk_ai.version import __version__

if TYPE_CHECKING:
    from fisk_ai.llm.http_debug import HttpDebug
    from fisk_ai.llm.provider import HttpCall, HttpMiddleware, HttpRequest, HttpResponse
    from fisk_ai.llm.trace import TraceFile

_log = get_logger("agent_worker")


class DebugFiles:
    """The files that the command line names; ``None`` for one nobody asked for."""

    def __init__(self, config: Config, arguments: Arguments) -> None:
        """Note what is asked for; ``begin`` makes it."""
        self._config = config
        self._arguments = arguments
        self.http: HttpDebug | None = None
        self.trace: TraceFile | None = None

    @property
    def middlewares(self) -> tuple[HttpMiddleware, ...]:
        """What sees the model's traffic once there are files, the outermost first."""
        asked = self._arguments
        named = ((asked.http_debug, self._dump), (asked.trace, self._trace))
        return tuple(middleware for path, middleware in named if path is not None)

    def begin(self) -> None:
        """Make the files, before the model is asked anything.

        Raises:
            SetupError: one cannot be written; nothing is left of the other.
        """
        asked = self._arguments
        if asked.trace is not None:
            from fisk_ai.llm.trace import TraceFile  # noqa: PLC0415 - for who debugs alone

            config = self._config
            self.trace = TraceFile.create(
                asked.trace, model=config.llm.model, config=str(config.source), version=__version__
            )
        if asked.http_debug is not None:
            from fisk_ai.llm.http_debug import HttpDebug  # noqa: PLC0415 - likewise

            try:
                self.http = HttpDebug.create(asked.http_debug)
            except SetupError:
                if asked.trace is not None:
                    asked.trace.unlink(missing_ok=True)
                raise

    async def close(self) -> None:
        """Finish both files, and say of one that has a hole why it ends early."""
        for name, file in (("--http-debug", self.http), ("--trace", self.trace)):
            if file is None:
                continue
            await file.close()
            failure = file.take_failure()
            if failure:
                _log.warning("a debug file is incomplete", argument=name, error=failure)

    async def _dump(self, request: HttpRequest, call: HttpCall) -> HttpResponse:
        return await (self.http.middleware(request, call) if self.http else call(request))

    async def _trace(self, request: HttpRequest, call: HttpCall) -> HttpResponse:
        return await (self.trace.middleware(request, call) if self.trace else call(request))
