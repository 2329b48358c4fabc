"""What travels: a message received, and a request that wants an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from fisk_ai.errors import BusError

ERROR_TEXT_HEADER = "Nats-Service-Error"
ERROR_STATUS_HEADER = "Nats-Service-Error-Code"
STATUS_HEADER = "Status"
NO_RESPONDERS = "503"

REFUSAL_LIMIT = 512
"""Longest refusal text in code points: it travels in a header and is read by a person."""

Send = Callable[[str, bytes, Mapping[str, str] | None], Awaitable[None]]
"""Publish a body with headers on a subject; what :class:`Inbound` answers through."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message that arrived; ``no_responders`` is the broker saying that nobody listens."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    subject: str = ""
    reply: str = ""
    no_responders: bool = False

    @property
    def refusal(self) -> tuple[str, str] | None:
        """The service's own status and text when the request was refused, else ``None``."""
        status = self.headers.get(ERROR_STATUS_HEADER, "")
        text = self.headers.get(ERROR_TEXT_HEADER, "")
        return (status, text) if status or text else None


@dataclass(slots=True)
class Inbound:
    """A request on a subject we serve; its reply subject has been checked already."""

    body: bytes
    headers: Mapping[str, str]
    subject: str
    reply: str
    send: Send
    refused: str = ""

    async def respond(self, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Answer the request.

        Raises:
            BusError: the request named no reply subject, or the connection is gone.
            MessageTooLargeError: the answer is over the broker's limit.
        """
        if not self.reply:
            raise BusError(f'the request on "{self.subject}" names no reply subject')
        await self.send(self.reply, body, headers)

    async def refuse(self, status: str, text: str) -> None:
        """Answer with a service error: the two error headers and an empty body.

        A request without a reply subject is refused in silence: nobody would hear it.
        """
        self.refused = f"{status}: {text}"
        if not self.reply:
            return
        headers = {ERROR_TEXT_HEADER: text[:REFUSAL_LIMIT], ERROR_STATUS_HEADER: status}
        await self.send(self.reply, b"", headers)


Handler = Callable[[Inbound], Awaitable[None]]
"""Serves one request; runs in a task of its own."""


def wire_bytes(body: bytes, headers: Mapping[str, str] | None) -> int:
    """Return what a broker counts against its payload limit: the body and its encoded headers."""
    if headers is None:
        return len(body)
    lines = sum(len(name.encode()) + len(value.encode()) + 4 for name, value in headers.items())
    return len(body) + len(b"NATS/1.0\r\n\r\n") + lines
