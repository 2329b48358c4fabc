"""A body that is read up to a number of bytes and no further.

They are counted as they are decoded, since a few compressed bytes can become gigabytes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import anthropic
import httpx2


class ReplyTooLargeError(anthropic.AnthropicError):
    """A reply is over its bound; an error of the SDK's, so that the SDK does not ask again."""


class Bounded(httpx2.AsyncByteStream):
    """The decoded body of a response, up to a number of bytes."""

    def __init__(self, response: httpx2.Response, limit_bytes: int) -> None:
        """Read from ``response``, whose headers say how its body is encoded."""
        self._response = response
        self._limit_bytes = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async with aclosing(self._response.aiter_bytes()) as parts:
            async for part in parts:
                size += len(part)
                if size > self._limit_bytes:
                    raise ReplyTooLargeError(f"its reply is over {self._limit_bytes} bytes")
                yield part

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()
