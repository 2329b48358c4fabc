"""The one place that imports nats-py, and how: without the WebSocket transport.

nats-py imports aiohttp when it is installed, which more than doubles its own import time, for a
transport that this project refuses (:mod:`fisk_ai.bus.options`). The name is hidden while nats-py
is imported and aiohttp stays importable afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

_HIDDEN = "aiohttp"

_hide = _HIDDEN not in sys.modules
if _hide:
    sys.modules[_HIDDEN] = None  # pyright: ignore[reportArgumentType] - None blocks an import
try:
    from nats import errors
    from nats.aio.client import Client as NatsClient
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
finally:
    if _hide:
        del sys.modules[_HIDDEN]

LOST = (errors.Error, OSError, RuntimeError)
"""What a call on a connection fails with; uvloop reports a socket closed meanwhile as the last."""

__all__ = ["LOST", "Client", "Limits", "Msg", "Subscription", "errors", "subscribe"]


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

    def _connect_command(self) -> bytes:
        if self._needs_tls and not self._server_info.get("tls_required"):
            raise errors.SecureConnWantedError
        return super()._connect_command()

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
