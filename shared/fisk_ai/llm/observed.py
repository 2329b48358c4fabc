"""One HTTP attempt as middlewares see it, while its reply goes to whoever asked.

A middleware reads as if it made the attempt: it awaits the rest and gets the whole response. A
reply that is streamed must reach its reader meanwhile. So the middlewares run in a task beside the
attempt, and whoever makes it says here what became of it. Nothing they do changes a call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from fisk_ai.errors import ProviderError
from fisk_ai.llm.provider import HttpCall, HttpMiddleware, HttpRequest, HttpResponse

_log = logging.getLogger(__name__)


class Observed:
    """Tells middlewares of one attempt; the first word about its outcome counts.

    Each method returns when the middlewares are done with what they were told, so their lines
    stand in the order of what happened.
    """

    __slots__ = ("_asked", "_outcome", "_task")

    def __init__(self, request: HttpRequest, middlewares: Sequence[HttpMiddleware]) -> None:
        """Start the middlewares; ``begin`` also waits for them to let the request go."""
        self._asked = asyncio.Event()
        self._outcome: asyncio.Future[HttpResponse] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(_run(self._chain(middlewares), request))
        self._task.add_done_callback(lambda _: self._asked.set())

    @classmethod
    async def begin(cls, request: HttpRequest, middlewares: Sequence[HttpMiddleware]) -> Observed:
        """Show a request; returns when every middleware has asked for the next one."""
        observed = cls(request, middlewares)
        try:
            await observed._asked.wait()
        except asyncio.CancelledError:
            await observed.left()
            raise
        return observed

    async def answered(self, response: HttpResponse) -> None:
        """Say what came back."""
        if not self._outcome.done():
            self._outcome.set_result(response)
            await self._end()

    async def failed(self, error: ProviderError) -> None:
        """Say why nothing came back."""
        if not self._outcome.done():
            self._outcome.set_exception(error)
            self._outcome.exception()  # seen, even if no middleware asks for it
            await self._end()

    async def left(self) -> None:
        """Say that nobody waits for the attempt any more: the middlewares are cancelled."""
        self._task.cancel()
        await self._end()

    def _chain(self, middlewares: Sequence[HttpMiddleware]) -> HttpCall:
        call: HttpCall = self._innermost
        for middleware in reversed(middlewares):
            call = partial(_through, middleware, call)
        return call

    async def _innermost(self, _: HttpRequest) -> HttpResponse:
        self._asked.set()
        return await self._outcome

    async def _end(self) -> None:
        await asyncio.wait({self._task})
        bug = None if self._task.cancelled() else self._task.exception()
        if bug is not None and not isinstance(bug, ProviderError):
            _log.error("a middleware of the model's traffic failed: %s", type(bug).__name__)


async def _run(call: HttpCall, request: HttpRequest) -> HttpResponse:
    return await call(request)


async def _through(
    middleware: HttpMiddleware, call: HttpCall, request: HttpRequest
) -> HttpResponse:
    return await middleware(request, call)
