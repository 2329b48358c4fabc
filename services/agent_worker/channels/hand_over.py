"""Handing work from whoever holds its lease to whoever runs it: taken at once, or not at all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from fisk_ai.serving.contract import ChannelDoneError, Work


@dataclass(slots=True)
class _Offer:
    work: Work
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    withdrawn: bool = False


class HandOver:
    """Unbuffered: work that nobody takes stays with its giver, who may withdraw it."""

    def __init__(self) -> None:
        self._offers: asyncio.Queue[_Offer | None] = asyncio.Queue()
        self._closed = asyncio.Event()

    def close(self) -> None:
        """Refuse what is offered from now on, and everything that was not taken yet."""
        if not self._closed.is_set():
            self._closed.set()
            self._offers.put_nowait(None)

    async def give(self, work: Work) -> bool:
        """Offer ``work`` until it is taken, lost or all is closed; whether it was taken."""
        offer = _Offer(work)
        self._offers.put_nowait(offer)
        try:
            await _first(offer.taken, work.lost, self._closed)
        finally:
            offer.withdrawn = not offer.taken.is_set()
        return offer.taken.is_set()

    async def take(self) -> Work:
        """Wait for work.

        Raises:
            ChannelDoneError: it was closed.
        """
        while (offer := await self._offers.get()) is not None:
            if not (offer.withdrawn or self._closed.is_set()):
                offer.taken.set()
                return offer.work
        self._offers.put_nowait(None)
        raise ChannelDoneError("the channel was closed")


async def _first(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
