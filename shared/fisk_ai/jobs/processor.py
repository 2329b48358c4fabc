"""The loop of one process over one queue: a unit first, then an item.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
import logging

from fisk_ai.bus.pulling import Delivery
from fisk_ai.errors import BusError
from fisk_ai.jobs.backoff import POLLING
from fisk_ai.jobs.processing import Processing
from fisk_ai.jobs.queue import Items

_log = logging.getLogger("fisk_ai.jobs")


class Processor:
    """Has ``units`` items at work at once; an item is a lease, so that none waits here for one."""

    def __init__(self, items: Items, processing: Processing, *, units: int) -> None:
        self._items = items
        self._processing = processing
        self._units = asyncio.Semaphore(units)
        self._at_work: set[asyncio.Task[None]] = set()
        self._pulling: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    def start(self) -> None:
        """Begin to take items; twice is harmless."""
        if self._pulling is None:
            self._pulling = asyncio.create_task(self._pull(), name="job queue")
            self._pulling.add_done_callback(lambda _: self._ended.set())

    async def ended(self) -> None:
        """Wait for the end of the loop, which nothing but a bug or :meth:`stop` brings."""
        await self._ended.wait()

    async def stop(self) -> None:
        """Take no more, and hand back what had come and nobody began; what runs goes on."""
        if self._pulling is not None:
            self._pulling.cancel()
            await asyncio.wait({self._pulling})
        for delivery in await self._items.close():
            await self._processing.hand_back(delivery)

    async def settled(self) -> None:
        """Wait until everything that was begun is settled."""
        while self._at_work:
            await asyncio.wait(tuple(self._at_work))

    async def _pull(self) -> None:
        failures = 0
        while True:
            await self._units.acquire()
            try:
                delivery = await self._items.next()
                failures = 0
            except BusError as exc:
                _log.warning("the queue could not be asked: %s", exc)
                delivery = None
                await asyncio.sleep(POLLING.delay_s(failures))
                failures += 1
            if delivery is None:
                self._units.release()
                continue
            self._begin(delivery)

    def _begin(self, delivery: Delivery) -> None:
        task = asyncio.create_task(self._processing.process(delivery), name="job")
        self._at_work.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._at_work.discard(task)
        self._units.release()
