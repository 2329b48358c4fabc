"""The Anthropic provider: one request, one deadline, one error for whatever went wrong.

Construction refuses what can never work and starts importing the SDK in a thread of its own, so
that a worker can connect and register meanwhile. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

import msgspec

from fisk_ai import options
from fisk_ai.errors import ConfigError, ProviderError
from fisk_ai.llm.anthropic.attempts import Attempts
from fisk_ai.llm.anthropic.base_url import (
    DEFAULT_BASE_URL,
    SETTING,
    check_base_url,
    sends_key_in_clear,
)
from fisk_ai.llm.anthropic.codec import response_from_wire
from fisk_ai.llm.anthropic.declared import CAPABILITIES
from fisk_ai.llm.anthropic.events import events
from fisk_ai.llm.anthropic.failures import TEXT_LIMIT, ApiError, said, to_error
from fisk_ai.llm.anthropic.params import build_params, size_hint
from fisk_ai.llm.anthropic.stream import Assembly
from fisk_ai.llm.model import Request, Response
from fisk_ai.llm.provider import OPTIONS_KEY, Capabilities, DeltaSink, ProviderConfig
from fisk_ai.text.duration import go_duration
from fisk_ai.text.gojson import dumps
from fisk_ai.text.scrub import Scrub

if TYPE_CHECKING:
    from fisk_ai.llm.anthropic.sdk import Transport

_log = logging.getLogger(__name__)

_KEY: Final = re.compile(r"[\x21-\x7e]+")

AT_ONCE_BYTES: Final = 1024 * 1024
"""A larger request is written, and a larger reply read, in a thread: both hold up all runs."""


class _Options(msgspec.Struct, frozen=True):
    """It takes none."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One request on its way."""

    transport: Transport
    request: Request
    attempts: Attempts


class AnthropicProvider:
    """Asks models over the Messages API; one instance serves many runs."""

    __slots__ = ("_call_timeout_s", "_scrub", "_transport")

    def __init__(self, config: ProviderConfig) -> None:
        """Check the settings and begin to load the SDK.

        Raises:
            ConfigError: no key, an address that may not be used, or an option.
        """
        options.decode("anthropic llm", config.options, _Options, key=OPTIONS_KEY)
        self._scrub = Scrub(_checked_key(config.api_key), *config.secrets)
        self._call_timeout_s = config.call_timeout_s
        base_url = check_base_url(config.base_url) or DEFAULT_BASE_URL
        if sends_key_in_clear(base_url):
            _log.warning("the API key travels unencrypted: %s is plain http", SETTING)
        self._transport = _begin(lambda: _connect(base_url, config))

    def capabilities(self) -> Capabilities:
        """Say that it streams and searches tools."""
        return CAPABILITIES

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        """Ask once; the call timeout covers every retry.

        Raises:
            ProviderError: the model did not answer, or not in a way that can be read.
        """
        transport = await self._loaded()
        deadline = asyncio.timeout(self._call_timeout_s)
        ends_at = asyncio.get_running_loop().time() + self._call_timeout_s
        attempts = Attempts(ends_at, request.iteration)
        try:
            async with deadline:
                return await self._ask(_Call(transport, request, attempts), on_delta)
        except TimeoutError as exc:
            if not deadline.expired():
                raise
            raise self._out_of_time(request, attempts) from exc
        except ApiError as exc:
            raise to_error(exc.failure, request, scrub=self._scrub) from exc

    def _out_of_time(self, request: Request, attempts: Attempts) -> ProviderError:
        """Return the error of a call that took too long; a failed attempt is the reason if any."""
        setting = f"llm.budget.call_timeout ({go_duration(self._call_timeout_s)})"
        if attempts.last is None:
            text = f"the model did not answer within {setting}"
            return ProviderError(text, failure="timeout")
        error = to_error(attempts.last, request, scrub=self._scrub)
        return ProviderError(f"{error}; not answered again within {setting}", failure=error.failure)

    async def close(self) -> None:
        """Close every connection; waits for a load that is still going on."""
        with suppress(ProviderError):  # a client that was never made has none
            transport = await self._loaded()
            await transport.close()

    async def _loaded(self) -> Transport:
        # Shielded: one run that stops waiting must not cancel the load for all others.
        return await asyncio.shield(asyncio.wrap_future(self._transport))

    async def _ask(self, call: _Call, on_delta: DeltaSink | None) -> Response:
        body = await _written(call.request, streamed=on_delta is not None)
        try:
            if on_delta is None:
                raw = await call.transport.post(body, call.attempts)
            else:
                raw = await _streamed(call, body, on_delta)
            return await _read(raw)
        except ValueError as exc:
            why = said(str(exc), TEXT_LIMIT, scrub=self._scrub)
            # Without its cause, which holds the server's words as they are.
            raise ProviderError(f"the model's reply cannot be read: {why}") from None


async def _written(request: Request, *, streamed: bool) -> bytes:
    if size_hint(request) <= AT_ONCE_BYTES:
        return _body(request, streamed=streamed)
    return await asyncio.to_thread(_body, request, streamed=streamed)


def _body(request: Request, *, streamed: bool) -> bytes:
    try:
        params = build_params(request)
        return dumps({**params, "stream": True} if streamed else params)
    except ValueError as exc:
        raise ProviderError(f"the conversation cannot be sent: {exc}") from exc


async def _streamed(call: _Call, body: bytes, on_delta: DeltaSink) -> bytes:
    assembly = Assembly()
    async with aclosing(call.transport.stream(body, call.attempts)) as chunks:
        async for event in events(chunks):
            delta = assembly.take(event)
            if delta is not None:
                await on_delta(delta)
    return assembly.message()


async def _read(raw: bytes) -> Response:
    if len(raw) <= AT_ONCE_BYTES:
        return response_from_wire(raw)
    return await asyncio.to_thread(response_from_wire, raw)


def _checked_key(key: str) -> str:
    if not key:
        text = "the anthropic provider needs an API key; set ANTHROPIC_API_KEY or give --api-key"
        raise ConfigError(text, key="ANTHROPIC_API_KEY")
    if not _KEY.fullmatch(key):
        text = "ANTHROPIC_API_KEY / --api-key holds blanks or characters no key has; copy it again"
        raise ConfigError(text, key="ANTHROPIC_API_KEY")
    return key


def _connect(base_url: str, config: ProviderConfig) -> Transport:
    sdk = importlib.import_module("fisk_ai.llm.anthropic.sdk")
    make = cast("type[Transport]", sdk.Transport)
    return make(replace(config, base_url=base_url))


def _begin(load: Callable[[], Transport]) -> Future[Transport]:
    """Run ``load`` in a thread of its own."""
    loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load-anthropic")
    future = loader.submit(load)
    loader.shutdown(wait=False)
    return future
