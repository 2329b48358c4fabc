"""Messages asked for from a consumer of a stream: one request, at most so many messages.

What a message says of its place in its reply subject is read here and nowhere else.
Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from fisk_ai.bus.connection import Connection, Inbox
from fisk_ai.bus.messages import STATUS_HEADER, Received
from fisk_ai.errors import BusError

_ACK_TOKENS = 9
"""``$JS.ACK.stream.consumer.deliveries.stream_seq.consumer_seq.time.pending``; a newer form has
domain and account before the stream, and may have more at its end."""

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a delivered message lies.

    ``deliveries`` counts this one, ``seq`` is the stream's number, ``order`` the consumer's own
    without gaps, ``pending`` how many messages followed when it was delivered.
    """

    deliveries: int
    seq: int
    order: int
    time_ns: int
    pending: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a consumer handed to us."""

    message: Received
    place: Place


class Pull:
    """Requests to one consumer, whose messages come to one inbox; used by one task."""

    def __init__(self, connection: Connection, inbox: Inbox, subject: str) -> None:
        """``subject`` is the consumer's own; see :func:`open_pull`."""
        self._connection = connection
        self._inbox = inbox
        self._subject = subject

    async def ask(self, batch: int, *, expires_s: float) -> None:
        """Ask for ``batch`` messages, which may come until ``expires_s`` seconds are over.

        Raises:
            BusError: the connection is gone.
        """
        wanted = {"batch": batch, "expires": int(expires_s * NANOSECONDS)}
        await self._connection.publish_request(
            self._subject, msgspec.json.encode(wanted), reply=self._inbox.subject
        )

    async def next(self, timeout_s: float) -> Delivery | None:
        """Return the next message, or ``None``: nothing came, or the broker ended the request.

        ``None`` also when a lost broker is back, which has forgotten the request.

        Raises:
            BusError: the connection was closed.
        """
        message = await self._inbox.next(timeout_s)
        if message is None or STATUS_HEADER in message.headers:
            return None
        return Delivery(message, place_of(message.reply))

    async def close(self) -> None:
        """Stop listening."""
        await self._inbox.close()


async def open_pull(connection: Connection, subject: str) -> Pull:
    """Return a way to ask the consumer at ``subject``.

    Raises:
        BusError: the connection is gone.
    """
    return Pull(connection, await connection.open_inbox(), subject)


def place_of(reply: str) -> Place:
    """Read where a message lies from the reply subject of its delivery.

    Raises:
        BusError: it is none of a consumer's.
    """
    tokens = reply.split(".")
    numbers = tokens[4:9] if len(tokens) == _ACK_TOKENS else tokens[6:11]
    if tokens[:2] != ["$JS", "ACK"] or not all(map(str.isdecimal, numbers)) or len(numbers) < 5:
        raise BusError("a message was delivered without its place in a stream")
    deliveries, seq, order, time_ns, pending = map(int, numbers)
    return Place(deliveries, seq, order, time_ns, pending)
