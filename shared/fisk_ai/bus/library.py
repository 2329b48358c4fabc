"""The one place that imports nats-py, and how: without the WebSocket transport.

nats-py imports aiohttp when it is installed, which more than doubles its own import time, for a
transport that this project refuses (:mod:`fisk_ai.bus.options`). The name is hidden while nats-py
is imported and aiohttp stays importable afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_HIDDEN = "aiohttp"

_hide = _HIDDEN not in sys.modules
if _hide:
    sys.modules[_HIDDEN] = None  # pyright: ignore[reportArgumentType] - None blocks an import
try:
    from nats import errors
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
finally:
    if _hide:
        del sys.modules[_HIDDEN]

__all__ = ["Client", "Limits", "Msg", "Subscription", "errors", "subscribe"]


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
