"""What the middlewares of a provider are shown of its attempts: no header, no key, no secret.

A reply is shown when the last of it went to its reader, never before and never in its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import anthropic
import httpx2

from fisk_ai.errors import ProviderError
from fisk_ai.llm.anthropic.base_url import redact
from fisk_ai.llm.anthropic.bounded import ReplyTooLargeError
from fisk_ai.llm.observed import Observed
from fisk_ai.llm.provider import HttpMiddleware, HttpRequest, HttpResponse
from fisk_ai.text.sanitise import for_terminal

KEY_LENGTH: Final = 16
"""A shorter key is the "any key" of a local server; without it bodies would be full of holes."""

_REASON_LIMIT: Final = 200
_PHRASE_LIMIT: Final = 60
_UNREAD: Final = "nobody read the body"


@dataclass(frozen=True, slots=True)
class Viewers:
    """The middlewares of a provider, and the key they must not see."""

    middlewares: tuple[HttpMiddleware, ...]
    api_key: str

    async def begin(self, request: httpx2.Request, iteration: int | None) -> Shown:
        """Show a request that is about to be sent."""
        if not self.middlewares:
            return Shown()
        secret = self.api_key.encode() if len(self.api_key) >= KEY_LENGTH else b""
        seen = HttpRequest(
            method=request.method,
            url=redact(str(request.url)),
            body=_masked(request.content, secret),
            attempt=_retries(request),
            iteration=iteration,
        )
        return Shown(await Observed.begin(seen, self.middlewares), secret)


class Shown:
    """One attempt while it is shown; shows nothing where nobody looks."""

    __slots__ = ("_observed", "_secret", "_status")

    def __init__(self, observed: Observed | None = None, secret: bytes = b"") -> None:
        """Show to ``observed``; every ``secret`` in a body becomes ``***``."""
        self._observed = observed
        self._secret = secret
        self._status: tuple[int, str] | None = None

    def began(self, response: httpx2.Response) -> None:
        """Note that a response came; its body follows."""
        phrase = for_terminal(response.reason_phrase, _PHRASE_LIMIT)
        self._status = (response.status_code, phrase)

    def stream(self, stream: httpx2.AsyncByteStream) -> httpx2.AsyncByteStream:
        """Return a body that is shown when it has been read."""
        return stream if self._observed is None else _Shared(stream, self)

    async def read(self, body: bytes) -> None:
        """Show the whole body of the response that began."""
        await self._answered(_masked(body, self._secret))

    async def unread(self, reason: str) -> None:
        """Say why the body of the response that began cannot be shown."""
        await self._answered(None, reason)

    async def failed(self, error: BaseException) -> None:
        """Say what kept the attempt from its end; nothing new where that was shown."""
        if self._status is not None:
            await self.unread(reason(error))
        elif self._observed is not None:
            await self._observed.failed(ProviderError(reason(error)))

    async def _answered(self, body: bytes | None, error: str = "") -> None:
        if self._observed is None or self._status is None:
            return
        status, phrase = self._status
        answer = HttpResponse(status=status, reason=phrase, body=body, error=error)
        await self._observed.answered(answer)


class _Shared(httpx2.AsyncByteStream):
    """A body that goes to its reader piece by piece and is shown as far as it was read.

    A reader that leaves early has read why: an error stands at the end of what it got.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, shown: Shown) -> None:
        self._stream = stream
        self._shown = shown
        self._body = bytearray()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                self._body += part
                yield part
        except GeneratorExit:
            raise
        except BaseException as exc:
            await self._shown.failed(exc)
            raise
        await self._shown.read(bytes(self._body))

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self._body:
            await self._shown.read(bytes(self._body))
        else:
            await self._shown.unread(_UNREAD)


def reason(cause: BaseException | None) -> str:
    """Return what went wrong, without the bytes that a protocol error quotes behind a colon."""
    match cause:
        case anthropic.APIConnectionError() if cause.__cause__ is not None:
            return reason(cause.__cause__)
        case ReplyTooLargeError():
            return str(cause)
        case httpx2.RemoteProtocolError():
            return for_terminal(str(cause).partition(":")[0], _REASON_LIMIT)
        case httpx2.NetworkError() if str(cause):
            return for_terminal(str(cause), _REASON_LIMIT)
        case asyncio.CancelledError():
            return "the call ended before the answer did"
        case _:
            return type(cause).__name__


def _masked(body: bytes, secret: bytes) -> bytes:
    return body.replace(secret, b"***") if secret else body


def _retries(request: httpx2.Request) -> int:
    written = request.headers.get("x-stainless-retry-count", "")
    return int(written) if written.isdecimal() else 0
