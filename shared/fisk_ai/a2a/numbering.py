"""The numbers of one reply set: each is used up by a message that went out, and by no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import AnyMessage

Publish = Callable[[bytes, Mapping[str, str]], Awaitable[None]]
"""Sends one body with its headers to whoever asked."""


class Numbering:
    """Sends the messages of one set; whoever owns it keeps two sends from overlapping."""

    def __init__(self, publish: Publish, sequence: int = 0) -> None:
        """Go on behind ``sequence``; begin before the first message without it."""
        self._publish = publish
        self.sequence = sequence
        self.sent_at = 0.0

    async def send(self, message: AnyMessage, headers: Mapping[str, str] | None = None) -> None:
        """Send a message under the next number.

        Raises:
            BusError, ProtocolError: it did not go out, and its number is used again.
        """
        numbered = structs.replace(message, sequence=self.sequence + 1)
        await self._publish(codec.encode(numbered), headers or {})
        self.sequence += 1
        self.sent_at = asyncio.get_running_loop().time()
