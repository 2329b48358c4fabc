"""How one HTTP attempt is made and answered: read up to a bound, and sent to no other place.

The key and the whole conversation go where the settings say, never where an answer says. Rules:
``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import CoroutineType
from typing import Final, ParamSpec, TypeVar

import anthropic
import httpx2

from fisk_ai.llm.anthropic.attempts import Attempts, wait_asked_s
from fisk_ai.llm.anthropic.bounded import Bounded
from fisk_ai.llm.anthropic.failures import READ_LIMIT, TOO_LONG, ApiFailure, read_failure
from fisk_ai.llm.anthropic.shown import Shown, Viewers
from fisk_ai.llm.provider import ProviderConfig

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(slots=True)
class Exchange:
    """What the client has to know about the call that an attempt belongs to."""

    attempts: Attempts
    limit_bytes: int
    shown: Shown = field(default_factory=Shown)


exchange: Final[ContextVar[Exchange]] = ContextVar("exchange")


def new_client(config: ProviderConfig) -> httpx2.AsyncClient:
    """Return a client whose every response goes through this module.

    Raises:
        ValueError, ImportError, OSError: the proxies or certificates cannot be used.
    """
    viewers = Viewers(config.middlewares, config.api_key)

    async def ask(request: httpx2.Request) -> None:
        call = exchange.get()
        call.shown = await viewers.begin(request, call.attempts.iteration)

    return _Client(
        timeout=config.call_timeout_s,
        follow_redirects=False,
        event_hooks={"request": [ask], "response": [_take]},
    )


def _watched(send: Callable[_P, Awaitable[_T]]) -> Callable[_P, CoroutineType[object, object, _T]]:
    """Tell the viewers of an attempt when ``send`` fails: no hook of the client's does."""

    async def watched(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await send(*args, **kwargs)
        except BaseException as exc:
            await exchange.get().shown.failed(exc)
            raise

    return watched


class _Client(anthropic.DefaultAsyncHttpxClient):
    send = _watched(anthropic.DefaultAsyncHttpxClient.send)


async def _take(response: httpx2.Response) -> None:
    """Bound a response before anybody reads it, and decide whether to ask again."""
    call = exchange.get()
    call.shown.began(response)
    whole = httpx2.Response(response.status_code, headers=response.headers, stream=response.stream)
    response.headers.pop("content-encoding", None)  # what is read from now on is decoded
    if response.is_success:
        call.attempts.last = None
        response.stream = call.shown.stream(Bounded(whole, call.limit_bytes))
        return
    call.attempts.last = ApiFailure(response.status_code)  # known, whatever becomes of the body
    failure, body = await _read_failure(whole)
    if body is None:
        await call.shown.unread(TOO_LONG)
    else:
        await call.shown.read(body)
    response.stream = httpx2.ByteStream(body or b"")
    is_in_time = call.attempts.failed(replace(failure, wait_s=wait_asked_s(response.headers)))
    if not is_in_time or not response.is_error:
        response.headers["x-should-retry"] = "false"


async def _read_failure(response: httpx2.Response) -> tuple[ApiFailure, bytes | None]:
    """Return what an error says, and its body unless that is too long to be looked at."""
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as parts:
        async for part in parts:
            body += part
            if len(body) > READ_LIMIT:
                break
    await response.aclose()
    if len(body) > READ_LIMIT:
        return ApiFailure(response.status_code, "", TOO_LONG), None
    return read_failure(response.status_code, bytes(body)), bytes(body)
