"""What an answer of the network may cost and do: its size, its wait, its redirects, its logs."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import format_datetime, formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import ProviderError
from fisk_ai.llm.anthropic.attempts import wait_asked_s
from fisk_ai.llm.anthropic.failures import LONGEST_WAIT_S, READ_LIMIT
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.anthropic.sdk import REPLY_LIMIT_BYTES, STREAM_LIMIT_BYTES
from fisk_ai.llm.model import Delta, Message, Request, Response, TextBlock
from fisk_ai.llm.provider import ProviderConfig
from fisk_ai.testing.http import HttpRequest, HttpServer, Reply
from fisk_ai.testing.messages_endpoint import Answer, FakeMessagesEndpoint, failure, text

KEY = "sk-ant-hunter2"
AT_ONCE = {"retry-after-ms": "1"}
MIB = 1024 * 1024
REQUEST = Request(
    model="claude-x",
    system_blocks=(),
    messages=(Message("user", (TextBlock("a private question"),)),),
    tools=(),
    max_output_tokens=10,
)
MESSAGE = json.dumps(
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Moo"}],
        "stop_reason": "end_turn",
        "usage": {},
    }
).encode()

Handler = Callable[[HttpRequest, Reply], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncGenerator[str]:
    server = HttpServer(handler)
    await server.start()
    try:
        yield server.url
    finally:
        await server.stop()


@asynccontextmanager
async def saying(raw: bytes, *, stays_open: bool = False) -> AsyncGenerator[str]:
    """Serve bytes that are no proper answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        if stays_open:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def ask(url: str, *, is_streamed: bool = False, call_timeout_s: float = 15.0) -> Response:
    async def sink(_: Delta) -> None:
        pass

    config = ProviderConfig(api_key=KEY, base_url=url, call_timeout_s=call_timeout_s)
    model = AnthropicProvider(config)
    try:
        return await model.call(REQUEST, sink if is_streamed else None)
    finally:
        await model.close()


async def refused(
    url: str, *, is_streamed: bool = False, call_timeout_s: float = 15.0
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(url, is_streamed=is_streamed, call_timeout_s=call_timeout_s)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


class Endless:
    """Sends blanks until the other side goes away; counts what it could send."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.sent = 0
        self.requests = 0

    async def __call__(self, request: HttpRequest, reply: Reply) -> None:
        self.requests += 1
        if self.status != 200:
            blanks = b" " * (MIB // 4)
            self.sent += len(blanks)
            await reply.send(self.status, blanks, AT_ONCE)
            return
        await reply.start_stream({"content-type": "application/json"})
        while self.sent < 4 * STREAM_LIMIT_BYTES:
            await reply.chunk(b" " * (MIB - 1) + b"\n")
            self.sent += MIB


@pytest.mark.parametrize(
    ("is_streamed", "limit"), [(False, REPLY_LIMIT_BYTES), (True, STREAM_LIMIT_BYTES)]
)
async def test_a_reply_without_an_end_is_left_at_its_bound(
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
    limit: int,
) -> None:
    endless = Endless()
    async with serving(endless) as url:
        error = await refused(url, is_streamed=is_streamed)
    assert error.failure == "failed"
    assert f"over {limit} bytes" in str(error)
    assert endless.requests == 1
    assert endless.sent < limit + 16 * MIB


async def test_a_compressed_reply_is_bounded_by_what_it_becomes() -> None:
    bomb = gzip.compress(b" " * (REPLY_LIMIT_BYTES + MIB), compresslevel=1)

    async def handler(request: HttpRequest, reply: Reply) -> None:
        await reply.send(200, bomb, {"content-encoding": "gzip"})

    async with serving(handler) as url:
        error = await refused(url)
    assert error.failure == "failed"
    assert f"over {REPLY_LIMIT_BYTES} bytes" in str(error)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_compressed_reply_is_read(
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    async def handler(request: HttpRequest, reply: Reply) -> None:
        await reply.send(200, gzip.compress(MESSAGE), {"content-encoding": "gzip"})

    async with serving(handler) as url:
        reply = await ask(url, is_streamed=is_streamed)
    assert reply.content == (TextBlock("Moo"),)


async def test_a_large_reply_under_the_bound_is_read() -> None:
    async def handler(request: HttpRequest, reply: Reply) -> None:
        await reply.send(200, MESSAGE + b" " * (4 * MIB))

    async with serving(handler) as url:
        assert (await ask(url)).content == (TextBlock("Moo"),)


@pytest.mark.parametrize(
    ("status", "expected", "requests"),
    [(400, "refused", 1), (429, "rate_limited", 3), (529, "overloaded", 3), (500, "failed", 3)],
)
async def test_a_failure_with_a_huge_body_keeps_its_class(
    status: int, expected: str, requests: int
) -> None:
    endless = Endless(status)
    async with serving(endless) as url:
        error = await refused(url)
    assert error.failure == expected
    assert "too long to be shown" in str(error)
    assert endless.requests == requests


async def test_a_compressed_failure_is_bounded_by_what_it_becomes() -> None:
    bomb = gzip.compress(b" " * (READ_LIMIT * 64))

    async def handler(request: HttpRequest, reply: Reply) -> None:
        await reply.send(401, bomb, {"content-encoding": "gzip"})

    async with serving(handler) as url:
        error = await refused(url)
    assert error.failure == "refused"
    assert "too long to be shown" in str(error)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_the_deadline_holds_while_a_body_trickles(
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    async def handler(request: HttpRequest, reply: Reply) -> None:
        await reply.start_stream()
        while True:
            await reply.chunk(b" ")
            await asyncio.sleep(0.02)

    async with serving(handler) as url:
        error = await refused(url, is_streamed=is_streamed, call_timeout_s=0.3)
    assert error.failure == "timeout"
    assert "llm.budget.call_timeout (300ms)" in str(error)


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (429, "rate_limit_error", "rate_limited"),
        (529, "overloaded_error", "overloaded"),
        (503, "api_error", "overloaded"),
    ],
)
@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"retry-after": "3600"}, "1h0m0s"),
        ({"retry-after-ms": "3600000"}, "1h0m0s"),
        ({"retry-after": "86399.25"}, "for a day or longer"),
        ({"retry-after": "3599.25"}, "1h0m0s"),
        ({"retry-after": "2592000"}, "for a day or longer"),
        ({"retry-after": "1e300"}, "for a day or longer"),
    ],
)
async def test_an_api_that_asks_to_wait_too_long_fails_at_once(
    endpoint: FakeMessagesEndpoint,
    status: int,
    kind: str,
    expected: str,
    headers: dict[str, str],
    told: str,
) -> None:
    endpoint.queue(failure(status, kind, "come back later", headers=headers))
    async with asyncio.timeout(10):
        error = await refused(endpoint.url, call_timeout_s=60)
    assert error.failure == expected
    assert f"come back later (it asks to wait {told})" in str(error)
    assert len(endpoint.requests) == 1


async def test_a_busy_api_that_then_keeps_silent_is_still_busy(
    endpoint: FakeMessagesEndpoint,
) -> None:
    endpoint.queue(
        failure(529, "overloaded_error", "busy", headers=AT_ONCE), *[Answer(hang=True)] * 2
    )
    error = await refused(endpoint.url, call_timeout_s=1)
    assert error.failure == "overloaded"
    assert "busy" in str(error)
    assert "llm.budget.call_timeout (1s)" in str(error)


async def test_a_busy_api_that_never_ends_its_explanation_is_still_busy() -> None:
    head = b"HTTP/1.1 529 Busy\r\ncontent-length: 99\r\n\r\n{"
    async with saying(head, stays_open=True) as url:
        error = await refused(url, call_timeout_s=1)
    assert error.failure == "overloaded"


async def test_a_reply_that_began_after_a_failure_is_out_of_time_for_itself() -> None:
    count = 0

    async def handler(request: HttpRequest, reply: Reply) -> None:
        nonlocal count
        count += 1
        if count == 1:
            await reply.send(529, b"{}", AT_ONCE)
            return
        await reply.start_stream()
        await reply.hang()

    async with serving(handler) as url:
        error = await refused(url, call_timeout_s=1)
    assert (count, error.failure) == (2, "timeout")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "30"}, 0.25),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "inf"}, LONGEST_WAIT_S),
        ({"retry-after": "1e300"}, LONGEST_WAIT_S),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": "Fri, 01 Jan 9999 00:00:00 GMT"}, LONGEST_WAIT_S),
        ({"retry-after": "Fri, 01 Jan 9999 00:00:00"}, LONGEST_WAIT_S),
    ],
)
def test_the_wait_an_api_asks_for_is_read(headers: dict[str, str], seconds: float) -> None:
    assert wait_asked_s(headers) == seconds


@given(st.text())
def test_any_wait_is_a_bounded_number(words: str) -> None:
    assert 0 <= wait_asked_s({"retry-after": words, "retry-after-ms": words}) <= LONGEST_WAIT_S


@given(st.datetimes())
def test_any_date_to_come_back_at_is_a_bounded_wait(date: datetime) -> None:
    assert 0 <= wait_asked_s({"retry-after": format_datetime(date)}) <= LONGEST_WAIT_S


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_no_redirect_is_followed(
    endpoint: FakeMessagesEndpoint,
    status: int,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(text("Moo"))
    asked = 0

    async def handler(request: HttpRequest, reply: Reply) -> None:
        nonlocal asked
        asked += 1
        where = {"location": f"{endpoint.url}/v1/messages", "x-should-retry": "true"}
        await reply.send(status, b"", where)

    async with serving(handler) as url:
        error = await refused(url, is_streamed=is_streamed)
    assert error.failure == "refused"
    assert f"answered {status}" in str(error)
    assert "--base-url / ANTHROPIC_BASE_URL to the final address" in str(error)
    assert (asked, endpoint.requests) == (1, [])


@pytest.mark.parametrize(
    "head",
    [
        f"HTTP/1.1 {KEY} OK\r\n\r\n",
        f"{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{KEY}\r\n",
        f"HTTP/1.1 200 OK\r\ncontent-length: {KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(KEY)}\r\n\r\n{KEY}",
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_key_in_a_broken_answer_is_not_given_away(
    head: str,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)

    async with saying(head.encode()) as url:
        error = await refused(url, is_streamed=is_streamed)
    assert error.failure == "failed"
    for part in ("hunter2", "sk-ant"):
        assert part not in "".join(traceback.format_exception(error))


async def test_debug_logs_hold_no_word_of_a_conversation(
    endpoint: FakeMessagesEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.queue(text("Moo"), failure(401, "authentication_error", KEY))
    with caplog.at_level(logging.DEBUG):
        await ask(endpoint.url)
        await refused(endpoint.url)
    assert "private question" not in caplog.text
    assert KEY not in caplog.text
    assert "HTTP" not in caplog.text


@pytest.mark.parametrize(
    "raw",
    [
        b"NONSENSE\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["no status line", "no gzip", "no chunk"],
)
async def test_a_server_that_answered_is_not_said_to_be_out_of_reach(raw: bytes) -> None:
    async with saying(raw) as url:
        error = await refused(url)
    assert "gave an answer that cannot be read: " in str(error)
