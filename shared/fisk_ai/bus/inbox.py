"""A private subject on which the replies to one request arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fisk_ai.bus.library import LOST, Msg, Subscription
from fisk_ai.bus.messages import NO_RESPONDERS, STATUS_HEADER, Received
from fisk_ai.errors import BusError

PENDING_MESSAGES = 4096
PENDING_BYTES = 64 * 1024 * 1024
"""What an unread inbox holds; past either bound messages are shed, which their numbers show."""


def plain_headers(message: Msg) -> dict[str, str]:
    """Return the headers with plain names; nats-py uses enumeration members for its own."""
    return {str.__str__(name): value for name, value in (message.headers or {}).items()}


def received(message: Msg) -> Received:
    """Return a message of nats-py as ours."""
    headers = plain_headers(message)
    nobody = headers.get(STATUS_HEADER) == NO_RESPONDERS and not message.data
    return Received(message.data, headers, message.subject, message.reply, nobody)


class _Wake:
    """Among the messages: look around, nothing came."""


class Inbox:
    """Messages of one private subject, oldest first; read by one task."""

    def __init__(self, subject: str, shed: Callable[[str], None]) -> None:
        self.subject = subject
        self._shed = shed
        self._queue: asyncio.Queue[Received | _Wake | None] = asyncio.Queue()
        self._pending_bytes = 0
        self._subscription: Subscription | None = None
        self._forget: Callable[[Inbox], None] = lambda _: None

    def attach(self, subscription: Subscription, forget: Callable[[Inbox], None]) -> None:
        """Take the subscription that feeds this inbox."""
        self._subscription = subscription
        self._forget = forget

    async def accept(self, message: Msg) -> None:
        """Keep a message until it is read, or shed it when too many wait."""
        size = len(message.data)
        if self._queue.qsize() >= PENDING_MESSAGES or self._pending_bytes + size > PENDING_BYTES:
            self._shed(self.subject)
            return
        self._pending_bytes += size
        self._queue.put_nowait(received(message))

    def end(self) -> None:
        """Wake the reader for the last time: the connection is gone."""
        self._queue.put_nowait(None)

    def wake(self) -> None:
        """Have the reader look around although no message came."""
        self._queue.put_nowait(_Wake())

    async def next(self, timeout_s: float) -> Received | None:
        """Return the next message, or ``None`` when none came in ``timeout_s`` seconds.

        ``None`` also, and before its time, when a lost broker is back.

        Raises:
            BusError: the connection was closed; nothing will come any more.
        """
        try:
            async with asyncio.timeout(timeout_s):
                message = await self._queue.get()
        except TimeoutError:
            return None
        if message is None:
            self.end()
            raise BusError("the connection to the broker was closed")
        if isinstance(message, _Wake):
            return None
        self._pending_bytes -= len(message.body)
        return message

    async def close(self) -> None:
        """Stop listening; calling it twice is harmless."""
        subscription, self._subscription = self._subscription, None
        self._forget(self)
        if subscription is None:
            return
        try:
            await subscription.unsubscribe()
        except LOST:
            return  # the connection is closed or closing, and the subscription with it
