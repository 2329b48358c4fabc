"""The only module that touches the Anthropic SDK; importing it takes most of a second.

The SDK is used for its transport: retries, back-off and connection reuse. Bodies go through as
bytes in both directions, because its typed models would re-spell them. Whatever it raises leaves
here as an error of ours.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Final

import anthropic
import httpx2

from fisk_ai.errors import ProviderError
from fisk_ai.llm.anthropic.base_url import redact
from fisk_ai.llm.anthropic.failures import ApiError, read_failure
from fisk_ai.text.sanitise import for_terminal

_PATH: Final = "/v1/messages"
_HEADERS: Final = {"Content-Type": "application/json"}
_CAUSE_LIMIT: Final = 200


class Transport:
    """Sends message requests to one address with one key."""

    __slots__ = ("_address", "_client")

    def __init__(self, *, api_key: str, base_url: str, timeout_s: float) -> None:
        """Make the client.

        Raises:
            ProviderError: what the environment says about proxies cannot be used.
        """
        self._address = redact(base_url)
        try:
            self._client = anthropic.AsyncAnthropic(
                api_key=api_key,
                base_url=base_url,
                timeout=timeout_s,
                # Made here: the client that the SDK makes complains when its making fails.
                http_client=anthropic.DefaultAsyncHttpxClient(timeout=timeout_s),
                # The spans of this project are the only ones: two would count every token twice.
                open_telemetry=False,
            )
        except (anthropic.AnthropicError, ValueError, ImportError, OSError):
            text = "the model client cannot be made; check the proxy and certificate variables"
            raise ProviderError(text) from None  # proxy addresses may hold a password

    async def post(self, body: bytes) -> bytes:
        """Send a request and return the whole reply.

        Raises:
            ApiError: the API answered that it will not do it.
            ProviderError: there was no whole answer.
        """
        with _translated(self._address):
            response = await self._send(body, stream=False)
            return await response.aread()

    async def stream(self, body: bytes) -> AsyncGenerator[bytes]:
        """Send a request and yield the reply as it arrives; raises as ``post`` does."""
        with _translated(self._address):
            response = await self._send(body, stream=True)
            try:
                async for chunk in response.aiter_bytes():
                    yield chunk
            finally:
                await response.aclose()

    async def _send(self, body: bytes, *, stream: bool) -> httpx2.Response:
        return await self._client.post(
            _PATH,
            cast_to=httpx2.Response,
            content=body,
            options={"headers": _HEADERS},
            stream=stream,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()


@contextmanager
def _translated(address: str) -> Generator[None]:
    try:
        yield
    except anthropic.APIStatusError as exc:
        # Without its cause: the SDK's text repeats the server's words, and those may hold the key.
        raise ApiError(read_failure(exc.status_code, exc.response.content)) from None
    except (anthropic.APITimeoutError, httpx2.TimeoutException) as exc:
        text = f"the model API at {address} did not answer in time"
        raise ProviderError(text, failure="timeout") from exc
    except anthropic.APIConnectionError as exc:
        # Without its cause, too: a header that cannot be sent is quoted there.
        text = f"the model API at {address} cannot be reached: {_reason(exc.__cause__)}"
        raise ProviderError(text) from None
    except (anthropic.AnthropicError, httpx2.HTTPError) as exc:
        cause = for_terminal(str(exc), _CAUSE_LIMIT)
        raise ProviderError(f"the model API at {address} broke off its reply: {cause}") from exc


def _reason(cause: BaseException | None) -> str:
    if isinstance(cause, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return for_terminal(str(cause), _CAUSE_LIMIT)
    return type(cause).__name__
