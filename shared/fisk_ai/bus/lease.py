"""The time for which a message of a consumer is ours: renewed while we work, settled once.

Decided here: a lease ends for us before it ends at the broker, counted from the *sending* of the
newest renewal that was confirmed, so that nothing of ours is at work when the message is delivered
again. The broker confirms every acknowledgement of a consumer that exists and applies it to the
present holder, also one that came too late: after the end nothing is sent any more.
Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Final, Self

import msgspec

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.pulling import NANOSECONDS, Delivery
from fisk_ai.errors import BusError

RENEWALS: Final = 4
"""Renewals in the length of a lease; it is over for us after all but one of them failed."""

LEAST_PAUSE_S: Final = 0.25
"""Between two renewals of however short a lease."""

RENEWAL_TIMEOUT_S: Final = 2.0
SETTLE_TIMEOUT_S: Final = 5.0

_IN_PROGRESS: Final = b"+WPI"
_ACK: Final = b"+ACK"
_TERM: Final = b"+TERM"


class Lease:
    """Holds one delivered message for the length of the block; used by one task.

    ``lost`` is set once it is over for us: stop what was begun, within a quarter of its length.
    """

    def __init__(self, connection: Connection, delivery: Delivery, *, length_s: float) -> None:
        """``length_s`` is the consumer's ``ack_wait``."""
        self.lost = asyncio.Event()
        self._connection = connection
        self._subject = delivery.message.reply
        self._length_s = length_s
        self._confirmed = time.monotonic()
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to renew."""
        self._renewing = asyncio.create_task(self._renew(), name="lease")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop renewing; what was not settled is delivered again."""
        await self._stop()

    def give_up(self) -> None:
        """End it now: somebody else was found at work, so that nothing more may be sent."""
        self.lost.set()

    async def ack(self) -> bool:
        """Tell the broker that the message is done; whether it confirmed, for this and the next."""
        return await self._settle(_ACK)

    async def terminate(self) -> bool:
        """Tell the broker never to deliver it again."""
        return await self._settle(_TERM)

    async def hand_back(self, *, delay_s: float = 0.0) -> bool:
        """Have it delivered again, to anybody, ``delay_s`` seconds from now."""
        delay = msgspec.json.encode({"delay": int(delay_s * NANOSECONDS)})
        return await self._settle(b"-NAK " + delay)

    async def _settle(self, body: bytes) -> bool:
        await self._stop()
        if time.monotonic() >= self._ends():
            self.lost.set()
        return not self.lost.is_set() and await self._confirm(body, SETTLE_TIMEOUT_S)

    async def _renew(self) -> None:
        pause = max(self._length_s / RENEWALS, LEAST_PAUSE_S)
        due = self._confirmed + pause
        while (left := self._ends() - time.monotonic()) > 0:
            await asyncio.sleep(min(max(due - time.monotonic(), 0.0), left))
            sent = time.monotonic()
            if sent < due:
                continue
            due = sent + pause
            wait = min(RENEWAL_TIMEOUT_S, pause, max(self._ends() - sent, 0.0))
            if await self._confirm(_IN_PROGRESS, wait):
                self._confirmed = sent
        self.lost.set()

    def _ends(self) -> float:
        return self._confirmed + self._length_s * (RENEWALS - 1) / RENEWALS

    async def _confirm(self, body: bytes, timeout_s: float) -> bool:
        try:
            await self._connection.request(self._subject, body, timeout_s=timeout_s)
        except BusError:
            return False
        return True

    async def _stop(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait({self._renewing})
            self._renewing = None
