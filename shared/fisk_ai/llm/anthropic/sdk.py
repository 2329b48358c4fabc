"""Requests over the Anthropic SDK; importing it takes most of a second.

The SDK is used for its transport: retries, back-off and connection reuse. Bodies go through as
bytes in both directions, because its typed models would re-spell them. Whatever it raises leaves
here as an error of ours.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Final

import anthropic
import httpx2

from fisk_ai.errors import ProviderError
from fisk_ai.llm.anthropic.attempts import Attempts
from fisk_ai.llm.anthropic.base_url import redact
from fisk_ai.llm.anthropic.bounded import ReplyTooLargeError
from fisk_ai.llm.anthropic.events import EVENT_LIMIT_BYTES
from fisk_ai.llm.anthropic.failures import ApiError, ApiFailure
from fisk_ai.llm.anthropic.http import Exchange, exchange, new_client
from fisk_ai.llm.anthropic.shown import reason
from fisk_ai.llm.provider import ProviderConfig

_PATH: Final = "/v1/messages"
_HEADERS: Final = {"Content-Type": "application/json"}
_LIBRARIES: Final = ("anthropic", "httpx2", "httpcore2")

REPLY_LIMIT_BYTES: Final = EVENT_LIMIT_BYTES
"""A whole reply is no larger than the largest event of a streamed one."""

STREAM_LIMIT_BYTES: Final = 2 * REPLY_LIMIT_BYTES
"""A stream wraps every few characters of its reply in an event."""


class Transport:
    """Sends message requests to one address with one key."""

    __slots__ = ("_address", "_client")

    def __init__(self, config: ProviderConfig) -> None:
        """Make the client for a checked configuration, whose address is given.

        Raises:
            ProviderError: what the environment says about proxies cannot be used.
        """
        for name in _LIBRARIES:  # at debug level they log whole conversations
            logging.getLogger(name).setLevel(logging.WARNING)
        self._address = redact(config.base_url)
        try:
            self._client = anthropic.AsyncAnthropic(
                api_key=config.api_key,
                base_url=config.base_url,
                timeout=config.call_timeout_s,
                # Made here: the client that the SDK makes complains when its making fails.
                http_client=new_client(config),
                # The spans of this project are the only ones: two would count every token twice.
                open_telemetry=False,
            )
        except (anthropic.AnthropicError, ValueError, ImportError, OSError):
            text = "the model client cannot be made; check the proxy and certificate variables"
            raise ProviderError(text) from None  # proxy addresses may hold a password

    async def post(self, body: bytes, attempts: Attempts) -> bytes:
        """Send a request and return the whole reply.

        Raises:
            ApiError: the API answered that it will not do it.
            ProviderError: there was no whole answer.
        """
        call = Exchange(attempts, REPLY_LIMIT_BYTES)
        with _translated(self._address, attempts):
            response = await self._send(body, call, stream=False)
            return await response.aread()

    async def stream(self, body: bytes, attempts: Attempts) -> AsyncGenerator[bytes]:
        """Send a request and yield the reply as it arrives; raises as ``post`` does."""
        call = Exchange(attempts, STREAM_LIMIT_BYTES)
        with _translated(self._address, attempts):
            response = await self._send(body, call, stream=True)
            try:
                async for chunk in response.aiter_bytes():
                    yield chunk
            finally:
                await response.aclose()

    async def _send(self, body: bytes, call: Exchange, *, stream: bool) -> httpx2.Response:
        token = exchange.set(call)
        try:
            return await self._client.post(
                _PATH,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": _HEADERS},
                stream=stream,
            )
        finally:
            exchange.reset(token)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()


@contextmanager
def _translated(address: str, attempts: Attempts) -> Generator[None]:
    # All without their causes: those repeat the server's words, which may hold the key, and quote
    # headers that cannot be sent.
    try:
        yield
    except anthropic.APIStatusError as exc:
        raise ApiError(attempts.last or ApiFailure(exc.status_code)) from None
    except (anthropic.APITimeoutError, httpx2.TimeoutException):
        text = f"the model API at {address} did not answer in time"
        raise ProviderError(text, failure="timeout") from None
    except anthropic.APIConnectionError as exc:
        answered = isinstance(exc.__cause__, (httpx2.DecodingError, httpx2.RemoteProtocolError))
        what = "gave an answer that cannot be read" if answered else "cannot be reached"
        raise ProviderError(f"the model API at {address} {what}: {reason(exc)}") from None
    except ReplyTooLargeError as exc:
        raise ProviderError(f"the model API at {address} was left: {exc}") from None
    except (anthropic.AnthropicError, httpx2.HTTPError) as exc:
        raise ProviderError(
            f"the model API at {address} broke off its reply: {reason(exc)}"
        ) from None
