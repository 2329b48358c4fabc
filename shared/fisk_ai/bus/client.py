"""The client of nats-py with what makes it fall over mended; how to subscribe with it.

Decided here: nothing that a sender puts into a message ends or stalls the reading of a connection.
A message that cannot be read is dropped and logged, the next one is read at once. When reading ends
all the same, the connection is opened anew without waiting for an unanswered ping.
Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, cast

from fisk_ai.bus.library import LOST, Msg, NatsClient, Subscription, errors
from fisk_ai.bus.pace import Pace
from fisk_ai.bus.protocol import Actions, Parser

_log = logging.getLogger("fisk_ai.bus")

HEADERS_LIMIT_BYTES: Final = 65_536
"""Headers of one message; a megabyte of them would keep everything else waiting."""


class Client(NatsClient):
    """A client whose flush means what it says, and that survives one nobody waits for any more.

    nats-py writes the ping of a flush past the commands that still wait to be written, so the
    broker may answer it before it knows of a subscription. And each pong completes the future of
    the oldest flush: on one that was cancelled or timed out it fails, its read loop ends, and the
    connection stays open and hears nothing. An address ``tls://`` does not bind it either: it logs
    in over a connection in the clear when whoever answers offers no other.
    """

    def __init__(self, *, needs_tls: bool = False, public_key: str = "") -> None:
        """``needs_tls`` forbids a login in the clear; ``public_key`` is sent with a signature."""
        super().__init__()
        self._needs_tls = needs_tls
        self._public_nkey = public_key or None
        self._ps = Parser(
            Actions(
                message=self._process_msg,
                error=self._process_err,
                info=self._process_info,
                ping=self._process_ping,
                pong=self._process_pong,
            )
        )
        self._pace = Pace()

    def _connect_command(self) -> bytes:
        if self._needs_tls and not self._server_info.get("tls_required"):
            raise errors.SecureConnWantedError
        return super()._connect_command()

    @property
    def server_version(self) -> str:
        """What the server calls its version; empty before the first connection."""
        return str(self._server_info.get("version", ""))

    def forget_unsent(self) -> None:
        """Drop what waits for a broker that is away; closing would write it to a closed socket."""
        if not self.is_connected:
            self._pending = []
            self._pending_data_size = 0

    def hang_up(self) -> None:
        """Close the socket, also when a closing of the client was cancelled part way."""
        if self._transport is not None:
            with contextlib.suppress(AttributeError):  # it never had a socket
                self._transport.close()  # pyright: ignore[reportUnknownMemberType] - untyped

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        if self._transport is not None and self._pending:
            self._transport.writelines(self._pending)  # pyright: ignore[reportUnknownMemberType] - untyped
            self._pending = []
            self._pending_data_size = 0
        await super()._send_ping(future)  # pyright: ignore[reportUnknownMemberType] - a bare Future

    async def _process_pong(self) -> None:
        pongs = cast("list[asyncio.Future[bool]]", self._pongs)  # pyright: ignore[reportUnknownMemberType] - a bare Future
        if pongs and pongs[0].done():
            pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        if len(headers) > HEADERS_LIMIT_BYTES:
            self._drop(subject, f"its headers are over {HEADERS_LIMIT_BYTES} bytes")
            return
        try:
            await super()._process_msg(sid, subject, reply, data, headers)
        except Exception as exc:  # noqa: BLE001 - the barrier of one message: any sender shapes it
            self._drop(subject, type(exc).__name__)

    async def _read_loop(self) -> None:
        await super()._read_loop()
        reading = asyncio.current_task()
        current = cast("asyncio.Task[None] | None", self._reading_task)  # pyright: ignore[reportUnknownMemberType] - a bare Task
        if self.is_connected and reading and reading is current and not reading.cancelling():
            await self._process_op_err(errors.ProtocolError())

    async def _process_connect_init(self) -> None:
        """Have every failure of a new connection be one that is tried again.

        nats-py gives up in silence on any but its own: on a credentials file that is just being
        replaced, or on a first line of the server that is too long. The socket stays open then.
        """
        try:
            await super()._process_connect_init()
        except LOST:
            self.hang_up()
            raise
        except Exception as exc:
            self.hang_up()
            raise errors.Error(str(exc) or type(exc).__name__) from exc

    def _drop(self, subject: bytes, reason: str) -> None:
        if lines := self._pace.permits("unreadable"):
            _log.warning(
                "dropped %d messages that cannot be read, the last on %.100r: %s",
                lines,
                subject,
                reason,
            )


@dataclass(frozen=True, slots=True)
class Limits:
    """What may wait in a subscription; past either bound messages are shed."""

    messages: int
    body_bytes: int


WAITING = Limits(messages=4096, body_bytes=64 * 1024 * 1024)
"""Room for a burst, in front of a reader that never pauses."""


async def subscribe(
    client: Client,
    subject: str,
    accept: Callable[[Msg], Awaitable[None]],
    *,
    queue: str = "",
    limits: Limits = WAITING,
) -> Subscription:
    """Subscribe; requests are served through :mod:`fisk_ai.bus.guard` alone, never from here."""
    return await client.subscribe(  # pyright: ignore[reportUnknownMemberType] - a bare Future in it
        subject,
        queue=queue,
        cb=accept,
        pending_msgs_limit=limits.messages,
        pending_bytes_limit=limits.body_bytes,
    )
