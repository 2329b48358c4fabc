"""The server of one worker: pools over channels, services beside them, one orderly end.

``serve`` returns after every run has ended. ``release`` is the first stop: no new work, running
work stops where it can be resumed. ``cancel_runs`` is the second: runs stop now. A fault of any
endpoint drains the server and is raised from ``serve``. Rules: ``docs/reference/serving.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fisk_ai.errors import FiskError, SetupError
from fisk_ai.serving.barrier import Runner
from fisk_ai.serving.contract import Channel, Faulting, Releasable, Service
from fisk_ai.serving.log import get_logger
from fisk_ai.serving.pool import Pool, Stage

_log = get_logger("fisk_ai.serving")


class ReleaseError(FiskError):
    """One or more endpoints could not be closed; every one of them was tried."""

    code = "release"


class Server:
    """Runs the work of ``channels`` with ``runner`` and holds ``services`` open."""

    def __init__(
        self, channels: Sequence[Channel], services: Sequence[Service], runner: Runner | None
    ) -> None:
        """Check that there is something to serve; ``runner`` may be missing without a channel.

        Raises:
            SetupError: no endpoint at all, or one without a name.
        """
        if not channels and not services:
            raise SetupError("nothing to serve: neither a channel nor a service was built")
        if channels and runner is None:
            raise SetupError("nothing runs the work of the channels; give the server a runner")
        if not all(endpoint.name for endpoint in (*channels, *services)):
            raise SetupError("an endpoint has no name; every channel and service needs one")
        self._channels = tuple(channels)
        self._services = tuple(services)
        self._stage = Stage()
        self._pools = tuple(
            Pool(channel, runner, self._stage) for channel in channels if runner is not None
        )

    def draining(self) -> bool:
        """Whether a stop has begun; a run that can be resumed parks at its next boundary."""
        return self._stage.draining.is_set()

    async def serve(self) -> None:
        """Serve until every channel is done, or with services alone until the release.

        Raises:
            Exception: the fault of an endpoint, after everything running has ended.
        """
        faults = [
            asyncio.create_task(endpoint.fault())
            for endpoint in (*self._channels, *self._services)
            if isinstance(endpoint, Faulting)
        ]
        work = asyncio.create_task(self._work())
        try:
            await asyncio.wait({work, *faults}, return_when=asyncio.FIRST_COMPLETED)
            fault = self._fault(faults) if not work.done() else None
            if fault is not None:
                _log.error("an endpoint failed; draining", error=str(fault))
                await self._release_quietly()
            await work
            if fault is not None:
                raise fault
        finally:
            for task in (work, *faults):
                task.cancel()
            await asyncio.wait({work, *faults})

    async def release(self) -> None:
        """Stop taking work and answering; running work goes on to its next boundary.

        Channels are closed in order, then services; one that fails does not keep the next.

        Raises:
            ReleaseError: names every endpoint that failed to close.
        """
        self._stage.draining.set()
        failures: list[str] = []
        closable = [channel for channel in self._channels if isinstance(channel, Releasable)]
        for endpoint in (*closable, *self._services):
            try:
                await endpoint.close()
            except Exception as exc:  # noqa: BLE001 - the others must be closed all the same
                failures.append(f"releasing {_name(endpoint)}: {exc}")
        if failures:
            raise ReleaseError("; ".join(failures))

    async def cancel_runs(self) -> None:
        """Stop every run now; implies a release that has begun. Each outcome is reported."""
        self._stage.draining.set()
        self._stage.cancelled.set()
        for pool in self._pools:
            pool.cancel_runs()

    async def _work(self) -> None:
        if not self._pools:
            await self._stage.draining.wait()
            return
        async with asyncio.TaskGroup() as pools:
            for pool in self._pools:
                pools.create_task(pool.serve())

    def _fault(self, faults: list[asyncio.Task[Exception]]) -> Exception | None:
        ended = [task.result() for task in faults if task.done()]
        return ended[0] if ended and not self.draining() else None

    async def _release_quietly(self) -> None:
        try:
            await self.release()
        except ReleaseError as exc:
            _log.error("could not release everything", error=str(exc))


def _name(endpoint: object) -> str:
    return str(getattr(endpoint, "name", type(endpoint).__name__))
