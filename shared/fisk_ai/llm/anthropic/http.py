"""How one HTTP response is taken: read no further than its bound, and sent on to no other place.

The key and the whole conversation go where the settings say, never where an answer says. Bodies
are counted as they are decoded, since a few compressed bytes can become gigabytes. Rules:
``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final

import anthropic
import httpx2

from fisk_ai.llm.anthropic.attempts import Attempts, wait_asked_s
from fisk_ai.llm.anthropic.failures import READ_LIMIT, TOO_LONG, ApiFailure, read_failure


class ReplyTooLargeError(anthropic.AnthropicError):
    """A reply is over its bound; an error of the SDK's, so that the SDK does not ask again."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the client has to know about the call that a response belongs to."""

    attempts: Attempts
    limit_bytes: int


exchange: Final[ContextVar[Exchange]] = ContextVar("exchange")


def new_client(timeout_s: float) -> httpx2.AsyncClient:
    """Return a client whose every response goes through this module.

    Raises:
        ValueError, ImportError, OSError: the proxies or certificates cannot be used.
    """
    return anthropic.DefaultAsyncHttpxClient(
        timeout=timeout_s, follow_redirects=False, event_hooks={"response": [_take]}
    )


async def _take(response: httpx2.Response) -> None:
    """Bound a response before anybody reads it, and decide whether to ask again."""
    call = exchange.get()
    whole = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.headers.pop("content-encoding", None)  # what is read from now on is decoded
    if response.is_success:
        call.attempts.last = None
        response.stream = _Bounded(whole, call.limit_bytes)
        return
    call.attempts.last = ApiFailure(response.status_code)  # known, whatever becomes of the body
    failure, body = await _read_failure(whole)
    response.stream = httpx2.ByteStream(body)
    is_in_time = call.attempts.failed(replace(failure, wait_s=wait_asked_s(response.headers)))
    if not is_in_time or not response.is_error:
        response.headers["x-should-retry"] = "false"


async def _read_failure(response: httpx2.Response) -> tuple[ApiFailure, bytes]:
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as parts:
        async for part in parts:
            body += part
            if len(body) > READ_LIMIT:
                break
    await response.aclose()
    if len(body) > READ_LIMIT:
        return ApiFailure(response.status_code, "", TOO_LONG), b""
    return read_failure(response.status_code, bytes(body)), bytes(body)


class _Bounded(httpx2.AsyncByteStream):
    """The decoded body of a response, up to a number of bytes."""

    def __init__(self, response: httpx2.Response, limit_bytes: int) -> None:
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
        await self._response.aclose()
