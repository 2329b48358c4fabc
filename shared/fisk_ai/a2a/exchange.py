"""One caller's messages to one agent: sent, dumped, and answered by one reply or a refusal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.messages import (
    AnyElicitReply,
    AnyMessage,
    Cancel,
    DiscoveryRequest,
    OperatorStatus,
    RequestAnswer,
    Sender,
)
from fisk_ai.bus.connection import Connection, Received
from fisk_ai.errors import ServiceRefusedError

Asked = Cancel | DiscoveryRequest | AnyElicitReply | OperatorStatus | RequestAnswer
"""What gets one reply."""

Debug = Callable[[str, str, bytes], None]
"""Sees every message: ``>`` sent or ``<`` received, its exchange's subject, its bytes.

It is called before a received message is judged, and an ``OSError`` of it is ignored.
"""


class Exchange:
    """Talks to the agent ``identity`` as ``sender``."""

    def __init__(
        self, connection: Connection, identity: str, *, sender: Sender, debug: Debug | None
    ) -> None:
        self.connection = connection
        self.identity = identity
        self.sender = sender
        self._debug = debug

    def dump(self, direction: str, subject: str, body: bytes) -> None:
        """Show a message to whoever debugs the wire."""
        if self._debug is None:
            return
        with contextlib.suppress(OSError):
            self._debug(direction, subject, body)

    async def ask(self, subject: str, message: Asked, *, timeout_s: float) -> AnyMessage:
        """Send ``message`` and return its one reply.

        Raises:
            ServiceRefusedError: the service refused it.
            ProtocolError, BusError: as their names say.
        """
        body = codec.encode(message)
        self.dump(">", subject, body)
        received = await self.connection.request(subject, body, timeout_s=timeout_s)
        self.dump("<", subject, received.body)
        raise_refusal(subject, received)
        return codec.decode(received.body, "the reply")

    async def probe(self, request: str, timeout_s: float) -> None:
        """Ask whether the worker of a running task is there; any reply says so.

        Raises:
            NoRespondersError: nobody runs that task.
            BusTimeoutError: no reply; the worker may be there all the same.
        """
        subject = subjects.cancel(self.identity, request)
        self.dump(">", subject, b"")
        await self.connection.request(subject, b"", timeout_s=timeout_s)


def raise_refusal(subject: str, received: Received) -> None:
    """Raise what a service said instead of an answer.

    Raises:
        ServiceRefusedError: the message carries a service error.
    """
    refusal = received.refusal
    if refusal is not None:
        status, text = refusal
        raise ServiceRefusedError(
            f'"{subject}" refused the request: {status}: {text[:500]}', status=status
        )
