"""How a worker is told to end: two signals, a fault, or a terminal that is gone.

The first signal drains: running work stops where it can be resumed. The second stops it now, in
bounded time, and so does a drain that takes too long. When the owner's pipe closes nobody is left
to answer or to wait, so draining is bounded more tightly. An owner that is done closes its pipe and
signals at once; that is the normal end of a hosted worker.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine

from agent_worker.leaving import leave
from fisk_ai.bus.owner import OWNER_DIED, wait_owner_gone
from fisk_ai.serving.log import get_logger
from fisk_ai.serving.server import ReleaseError, Server

OWNER_DRAIN_S = 5.0
"""How long running work may take to park once the terminal is gone."""

CANCEL_S = 30.0
"""How long cancelled work may take to end: a command gets 12 s to die, an outcome as much to be
told. Whatever hangs beyond is left, and the process ends without it."""

_log = get_logger("agent_worker")


class Stopping:
    """Turns signals and the end of the owner into the two stages of the server's stop."""

    def __init__(self, server: Server, *, drain_timeout_s: float) -> None:
        """``drain_timeout_s``: how long running work may take before it is cancelled."""
        self._server = server
        self._drain_timeout_s = drain_timeout_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._signals = 0
        self._draining = False

    def install(self, owner_fd: int | None) -> None:
        """Listen for SIGTERM and SIGINT, and for the end of the owner when there is one."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        if owner_fd is not None:
            loop.add_signal_handler(OWNER_DIED, _leave_to_the_pipe)
            self._start(lambda: self._follow(owner_fd))

    async def close(self) -> None:
        """Stop listening; what is under way is cancelled."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _signalled(self) -> None:
        self._signals += 1
        self._start(self._drain if self._signals == 1 else self._cancel)

    def _start(self, job: Callable[[], Coroutine[None, None, None]]) -> None:
        task = asyncio.create_task(job())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        if self._draining:
            return
        self._draining = True
        _log.info(
            "draining: no new work is taken and running work stops where it can resume; "
            "a second signal stops it now"
        )
        try:
            await self._server.release()
        except ReleaseError as exc:
            _log.error("could not release everything", error=str(exc))
        await asyncio.sleep(self._drain_timeout_s)
        _log.warning("the drain took too long", timeout_s=self._drain_timeout_s)
        await self._cancel()

    async def _cancel(self) -> None:
        _log.warning("stopping now: running work is cancelled")
        await self._server.cancel_runs()
        await asyncio.sleep(CANCEL_S)
        _log.error("running work did not end; leaving it")
        leave(1)

    async def _follow(self, owner_fd: int) -> None:
        await wait_owner_gone(owner_fd)
        _log.info("the terminal is gone, or done")
        self._start(self._drain)
        await asyncio.sleep(OWNER_DRAIN_S)
        await self._cancel()


def _leave_to_the_pipe() -> None:
    """Do nothing: the owner's pipe closes at the same death, and says so once."""
