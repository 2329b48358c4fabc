"""One channel's work: taken first, given a slot second, run in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fisk_ai.serving.barrier import Runner, finished, hard_stopped, outcome_of, report
from fisk_ai.serving.contract import (
    DEFAULT_SLOTS,
    Channel,
    ChannelDoneError,
    Concurrent,
    Outcome,
    Releasable,
    Work,
)
from fisk_ai.serving.log import begin_run, get_logger

RETRY_S = 5.0
"""Pause after a channel failed to produce: long enough not to spin, short enough to recover."""

T = TypeVar("T")
_log = get_logger("fisk_ai.serving")


@dataclass(slots=True)
class Stage:
    """How far the server is in ending; shared by its pools."""

    draining: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)


def slots_of(channel: Channel) -> int:
    """Return how many works of ``channel`` may run at once."""
    wanted = channel.concurrency() if isinstance(channel, Concurrent) else 0
    return wanted if wanted > 0 else DEFAULT_SLOTS


class Pool:
    """Pulls from one channel until it is done, or the server ends."""

    def __init__(self, channel: Channel, runner: Runner, stage: Stage) -> None:
        self._channel = channel
        self._runner = runner
        self._stage = stage
        self._slots = asyncio.Semaphore(slots_of(channel))
        self._runs: set[asyncio.Task[Outcome]] = set()
        # A channel that can be closed says itself when it is done, after handing over what it
        # had accepted; any other is simply left alone.
        self._until = stage.cancelled if isinstance(channel, Releasable) else stage.draining

    async def serve(self) -> None:
        """Pull and run; returns when every run of this channel has ended and been reported."""
        async with asyncio.TaskGroup() as jobs:
            while (work := await self._next()) is not None:
                if not await self._take_slot():
                    await report(work, Outcome(id=work.id, abandoned=True))
                    continue
                jobs.create_task(self._do(work), name=f"work {work.id}")

    def cancel_runs(self) -> None:
        """Stop every running work at once; each is still reported."""
        for run in self._runs:
            run.cancel()

    async def _next(self) -> Work | None:
        while not self._until.is_set():
            try:
                return await _unless(self._until, self._channel.next())
            except ChannelDoneError:
                return None
            except Exception:  # noqa: BLE001 - a channel that fails now may work in a moment
                _log.exception("a channel failed to produce work", channel=self._channel.name)
            await _unless(self._until, asyncio.sleep(RETRY_S))
        return None

    async def _take_slot(self) -> bool:
        if self._stage.draining.is_set():
            return False
        if not self._slots.locked():
            await self._slots.acquire()
            return True
        return await _unless(self._stage.draining, self._slots.acquire()) is True

    def _must_park(self, work: Work) -> bool:
        return self._stage.draining.is_set() or work.suspend_requested()

    async def _do(self, work: Work) -> None:
        begin_run(work, self._channel.name)
        parking = replace(work, suspend_requested=lambda: self._must_park(work))
        run = asyncio.create_task(outcome_of(parking, self._runner), name=f"run {work.id}")
        self._runs.add(run)
        try:
            outcome = await finished(run, work)
            if self._stage.cancelled.is_set():
                outcome = hard_stopped(outcome)
            await report(work, outcome)
        finally:
            run.cancel()
            self._runs.discard(run)
            self._slots.release()


async def _unless(event: asyncio.Event, coroutine: Coroutine[None, None, T]) -> T | None:
    """Return what ``coroutine`` returns, or ``None`` when ``event`` comes first."""
    wanted = asyncio.ensure_future(coroutine)
    stopped = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({wanted, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return wanted.result() if wanted.done() else None
    finally:
        stopped.cancel()
        wanted.cancel()
