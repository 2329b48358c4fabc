"""Taking turns from their queue: a slot first, for a turn that was pulled is a lease that runs.

Nothing is pulled while the broker, the session store or the reply stream does not answer, so that
an outage costs waiting and no turns. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from fisk_ai.a2a.durable.binding import Binding
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.pulling import Delivery, Pull, open_pull
from fisk_ai.errors import BusError, FiskError

_log = logging.getLogger("agent_worker.turns")

EXPIRES_S: Final = 5.0
"""How long one request for a turn stands; what must answer is asked before each."""

RETRY_S: Final = 1.0
"""Between two looks at what does not answer."""


class TurnPull:
    """Asks for one turn for each free slot."""

    def __init__(self, binding: Binding, workers: int, look: Callable[[], Awaitable[None]]) -> None:
        """``look`` returns when everything that a turn needs answers, and raises where not."""
        self._binding = binding
        self._look = look
        self._slots = asyncio.Semaphore(workers)
        self._pull: Pull | None = None
        self._fault = ""

    @property
    def fault(self) -> str:
        """Why no turn is taken at present, empty while turns are."""
        return self._fault

    async def open(self) -> None:
        """Make the way on which turns come; raises BusError."""
        self._pull = await open_pull(self._binding.js.connection, self._binding.pull_subject)

    async def deliveries(self) -> AsyncGenerator[Delivery]:
        """Yield one turn after another, each with a slot that :meth:`free` gives back."""
        while True:
            await self._slots.acquire()
            while (delivery := await self._next()) is None:
                pass
            yield delivery

    def free(self) -> None:
        """Give the slot of one turn back."""
        self._slots.release()

    async def close(self) -> None:
        """Leave, and give back what had come and nobody has begun.

        It would lie with a process that reads no more until its lease is over.
        """
        pull, self._pull = self._pull, None
        if pull is None:
            return
        await pull.close()
        with contextlib.suppress(BusError):
            await self._binding.js.connection.flush()
            while (delivery := await pull.next(0.0)) is not None:
                await self._hand_back(delivery)

    async def _next(self) -> Delivery | None:
        pull = self._pull
        if pull is None or not await self._is_fit():
            await asyncio.sleep(RETRY_S)
            return None
        loop = asyncio.get_running_loop()
        asked = loop.time()
        try:
            await pull.ask(1, expires_s=EXPIRES_S)
            delivery = await pull.next(EXPIRES_S + RETRY_S)
        except BusError as exc:
            self._note(str(exc))
            delivery = None
        if delivery is None and loop.time() - asked < EXPIRES_S / 2:
            await asyncio.sleep(RETRY_S)  # refused at once: the consumer or its broker is away
        return delivery

    async def _is_fit(self) -> bool:
        try:
            await self._look()
        except FiskError as exc:
            self._note(str(exc))
            return False
        self._note("")
        return True

    def _note(self, fault: str) -> None:
        """Log why no turn is taken, once, and that turns are taken again."""
        if fault and not self._fault:
            _log.warning("no turn is taken: %s", fault)
        elif self._fault and not fault:
            _log.info("turns are taken again")
        self._fault = fault

    async def _hand_back(self, delivery: Delivery) -> None:
        lease = Lease(self._binding.js.connection, delivery, length_s=self._binding.lease_s)
        await lease.hand_back()
