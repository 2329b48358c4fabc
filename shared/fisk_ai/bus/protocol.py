"""Reading what a broker writes: lines, and messages with as many bytes as their line says.

nats-py finds a line with patterns that take every blank for a separator, the end of a line too. So
it reads the first line of a message's headers as the length of the message, and a subject with a
form feed in it as two arguments: a sender could have it wait without end, end its connection, or
obey lines that no broker wrote. A broker writes one space between arguments and none inside them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, cast

from fisk_ai.bus.library import NatsParser, errors

LINE_LIMIT_BYTES: Final = 1024 * 1024
"""Far above any line of a broker; the longest tells of every server of a cluster."""

_END: Final = b"\r\n"
_DIGITS: Final = 10
"""Of a number in a line; a broker bounds messages well below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What is done with what was read; ``message`` gets sid, subject, reply, body and headers."""

    message: Callable[[int, bytes, bytes, bytes, bytes], Awaitable[None]]
    error: Callable[[str], Awaitable[None]]
    info: Callable[[dict[str, object]], Awaitable[None]]
    ping: Callable[[], Awaitable[None]]
    pong: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Message:
    """The line of a message; ``size`` counts its headers and its body."""

    subject: bytes
    sid: int
    reply: bytes
    headers_size: int
    size: int


class Parser(NatsParser):
    """Stands where nats-py has its own parser; whatever no broker writes is a protocol error."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._message: _Message | None = None
        self._searched = 0
        super().__init__()  # pyright: ignore[reportUnknownMemberType] - untyped

    def reset(self) -> None:
        """Forget what was read of a connection that is gone."""
        super().reset()
        self._message = None
        self._searched = 0

    async def parse(self, data: bytes = b"") -> None:
        """Take what was read and act on all that is complete.

        Raises:
            nats.errors.ProtocolError: it is nothing that a broker writes.
        """
        self.buf.extend(data)
        while await self._step():
            continue

    async def _step(self) -> bool:
        if self._message is not None:
            return await self._deliver(self._message)
        end = self.buf.find(_END, self._searched)
        if end < 0:
            if len(self.buf) > LINE_LIMIT_BYTES:
                raise errors.ProtocolError
            self._searched = max(len(self.buf) - 1, 0)  # an end may be cut in two
            return False
        self._searched = 0
        line = bytes(self.buf[:end])
        del self.buf[: end + len(_END)]
        await self._obey(line)
        return True

    async def _obey(self, line: bytes) -> None:
        operation, _, rest = line.partition(b" ")
        match operation:
            case b"MSG" | b"HMSG":
                self._message = _announced(rest.split(b" "), with_headers=operation == b"HMSG")
            case b"PING":
                await self._actions.ping()
            case b"PONG":
                await self._actions.pong()
            case b"-ERR":
                await self._actions.error(rest.decode(errors="replace").lower())
            case b"INFO":
                await self._actions.info(_info(rest))
            case b"+OK":
                return
            case _:
                raise errors.ProtocolError

    async def _deliver(self, message: _Message) -> bool:
        whole = message.size + len(_END)
        if len(self.buf) < whole:
            return False
        headers = bytes(self.buf[: message.headers_size])
        body = bytes(self.buf[message.headers_size : message.size])
        if bytes(self.buf[message.size : whole]) != _END:
            raise errors.ProtocolError
        del self.buf[:whole]
        self._message = None
        await self._actions.message(message.sid, message.subject, message.reply, body, headers)
        return True


def _announced(arguments: list[bytes], *, with_headers: bool) -> _Message:
    """Read ``subject sid [reply] [size of headers] size``."""
    sizes = 2 if with_headers else 1
    head, tail = arguments[:-sizes], [_number(size) for size in arguments[-sizes:]]
    if len(head) not in (2, 3) or tail[0] > tail[-1]:
        raise errors.ProtocolError
    subject, sid, *reply = head
    headers_size = tail[0] if with_headers else 0
    return _Message(subject, _number(sid), reply[0] if reply else b"", headers_size, tail[-1])


def _number(text: bytes) -> int:
    if not text.isdigit() or len(text) > _DIGITS:
        raise errors.ProtocolError
    return int(text)


def _info(text: bytes) -> dict[str, object]:
    try:
        info: object = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise errors.ProtocolError from exc
    if not isinstance(info, dict):
        raise errors.ProtocolError
    return cast("dict[str, object]", info)
