"""Middlewares see each attempt whole, in their order, and change nothing of a call."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fisk_ai.errors import ProviderError
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.anthropic.shown import KEY_LENGTH
from fisk_ai.llm.model import Delta, Message, Request, TextBlock
from fisk_ai.llm.observed import Observed
from fisk_ai.llm.provider import (
    HttpCall,
    HttpMiddleware,
    HttpRequest,
    HttpResponse,
    ProviderConfig,
)
from fisk_ai.testing.http import HttpRequest as Served
from fisk_ai.testing.http import HttpServer, Reply
from fisk_ai.testing.messages_endpoint import Answer, FakeMessagesEndpoint, failure, text

REQUEST = Request(
    model="claude-x",
    system_blocks=(),
    messages=(Message("user", (TextBlock("hello"),)),),
    tools=(),
    max_output_tokens=10,
    iteration=3,
)
ASKED = HttpRequest(method="POST", url="u", body=b"{}")
DONE = HttpResponse(status=200, reason="OK", body=b"{}")


class Viewer:
    """A middleware that remembers."""

    def __init__(self, name: str = "", log: list[str] | None = None) -> None:
        self.name = name
        self.log = [] if log is None else log
        self.requests: list[HttpRequest] = []
        self.responses: list[HttpResponse] = []
        self.errors: list[str] = []

    async def __call__(self, request: HttpRequest, call: HttpCall) -> HttpResponse:
        self.log.append(f"{self.name} asks")
        self.requests.append(request)
        try:
            response = await call(request)
        except ProviderError as exc:
            self.errors.append(str(exc))
            raise
        self.log.append(f"{self.name} has it")
        self.responses.append(response)
        return response


def provider(url: str, *middlewares: HttpMiddleware, key: str = "any") -> AnthropicProvider:
    return AnthropicProvider(
        ProviderConfig(api_key=key, base_url=url, call_timeout_s=10, middlewares=middlewares)
    )


async def nothing(_: Delta) -> None:
    pass


async def test_the_first_middleware_is_the_outermost(endpoint: FakeMessagesEndpoint) -> None:
    log: list[str] = []
    endpoint.queue(text("Moo"))
    model = provider(endpoint.url, Viewer("outer", log), Viewer("inner", log))
    await model.call(REQUEST)
    await model.close()
    assert log == ["outer asks", "inner asks", "inner has it", "outer has it"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_each_attempt_is_seen_with_its_bodies_and_counts(
    endpoint: FakeMessagesEndpoint,
    streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    viewer = Viewer()
    busy = failure(429, "rate_limit_error", "slow", headers={"retry-after-ms": "1"})
    endpoint.queue(busy, text("Moo"))
    model = provider(endpoint.url, viewer)
    reply = await model.call(REQUEST, nothing if streamed else None)
    await model.close()
    assert reply.content == (TextBlock("Moo"),)
    assert [(seen.attempt, seen.iteration) for seen in viewer.requests] == [(0, 3), (1, 3)]
    assert [seen.body for seen in viewer.requests] == [r.raw for r in endpoint.requests]
    assert {(seen.method, seen.url) for seen in viewer.requests} == {
        ("POST", f"{endpoint.url}/v1/messages")
    }
    refused, answer = viewer.responses
    assert (refused.status, refused.reason, answer.status, answer.reason) == (
        429,
        "Too Many Requests",
        200,
        "OK",
    )
    assert refused.body is not None
    assert b"rate_limit_error" in refused.body
    assert answer.body is not None
    assert (b"message_stop" in answer.body) == streamed


async def test_a_stream_is_not_held_back_by_who_looks_on() -> None:
    first_seen = asyncio.Event()

    async def handler(_: Served, reply: Reply) -> None:
        await reply.start_stream()
        for event in (
            '{"type":"message_start","message":{"role":"assistant","stop_reason":null}}',
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Moo"}}',
        ):
            await reply.chunk(f"data: {event}\n\n".encode())
        await first_seen.wait()  # the rest comes only when the fragment has arrived
        for event in (
            '{"type":"content_block_stop","index":0}',
            '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
            '{"type":"message_stop"}',
        ):
            await reply.chunk(f"data: {event}\n\n".encode())
        await reply.end_stream()

    async def sink(delta: Delta) -> None:
        if delta.text == "Moo":
            assert viewer.responses == []
            first_seen.set()

    viewer = Viewer()
    server = HttpServer(handler)
    await server.start()
    model = provider(server.url, viewer)
    reply = await model.call(REQUEST, sink)
    await model.close()
    await server.stop()
    assert reply.content == (TextBlock("Moo"),)
    (answer,) = viewer.responses
    assert answer.body is not None
    assert answer.body.endswith(b'{"type":"message_stop"}\n\n')


async def test_a_middleware_that_fails_is_logged_and_ends_no_call(
    endpoint: FakeMessagesEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    async def bug(_: HttpRequest, __: HttpCall) -> HttpResponse:
        raise RuntimeError("sk-secret")

    async def late_bug(request: HttpRequest, call: HttpCall) -> HttpResponse:
        await call(request)
        raise KeyError("sk-secret")

    endpoint.queue(text("Moo"), text("Moo"))
    with caplog.at_level(logging.ERROR):
        for middleware in (bug, late_bug):
            model = provider(endpoint.url, middleware)
            assert (await model.call(REQUEST)).content == (TextBlock("Moo"),)
            await model.close()
    assert "middleware of the model's traffic failed: RuntimeError" in caplog.text
    assert "middleware of the model's traffic failed: KeyError" in caplog.text
    assert "sk-secret" not in caplog.text


async def test_a_middleware_cannot_change_what_comes_back(endpoint: FakeMessagesEndpoint) -> None:
    async def liar(request: HttpRequest, call: HttpCall) -> HttpResponse:
        await call(request)
        return HttpResponse(status=500, reason="no", body=b"")

    endpoint.queue(text("Moo"))
    model = provider(endpoint.url, liar)
    assert (await model.call(REQUEST)).content == (TextBlock("Moo"),)
    await model.close()


async def test_what_kept_an_attempt_from_its_answer_is_told(
    endpoint: FakeMessagesEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    viewer = Viewer()
    await endpoint.stop()
    model = provider(endpoint.url, viewer)
    with pytest.raises(ProviderError):
        await model.call(REQUEST)
    await model.close()
    assert viewer.errors == ["All connection attempts failed"] * 3


@pytest.mark.parametrize(
    ("cut", "status", "reason"),
    [
        (Answer(raw="x" * 70_000, status=400), 400, "too long to be shown"),
        (Answer(cut=0), 200, "peer closed connection"),
    ],
)
async def test_a_body_that_was_not_read_is_shown_as_that(
    endpoint: FakeMessagesEndpoint, cut: Answer, status: int, reason: str
) -> None:
    viewer = Viewer()
    endpoint.queue(cut)
    model = provider(endpoint.url, viewer)
    with pytest.raises(ProviderError):
        await model.call(REQUEST, nothing)
    await model.close()
    (answer,) = viewer.responses
    assert (answer.status, answer.body) == (status, None)
    assert reason in answer.error


@pytest.mark.parametrize(("length", "hidden"), [(KEY_LENGTH - 1, False), (KEY_LENGTH, True)])
async def test_a_key_is_hidden_unless_it_is_too_short_to_be_one(
    endpoint: FakeMessagesEndpoint,
    length: int,
    hidden: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    key = "k" * length
    viewer = Viewer()
    endpoint.queue(text(f"[{key}]"))
    model = provider(endpoint.url, viewer, key=key)
    assert (await model.call(REQUEST)).content == (TextBlock(f"[{key}]"),)
    await model.close()
    body = viewer.responses[0].body
    assert body is not None
    assert (b"[***]" in body) == hidden


async def test_a_cancelled_call_is_told_and_leaves_no_task(endpoint: FakeMessagesEndpoint) -> None:
    viewer = Viewer()
    endpoint.queue(Answer(hang=True))
    model = provider(endpoint.url, viewer)
    before = asyncio.all_tasks()
    call = asyncio.ensure_future(model.call(REQUEST))
    await endpoint.received(1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert viewer.errors == ["the call ended before the answer did"]
    await model.close()
    assert not [task for task in asyncio.all_tasks() - before if "_run" in repr(task)]


async def test_a_call_cancelled_before_it_was_sent_cancels_who_holds_it_back() -> None:
    held = asyncio.Event()

    async def holds(request: HttpRequest, call: HttpCall) -> HttpResponse:
        held.set()
        await asyncio.Event().wait()
        return await call(request)

    begun = asyncio.ensure_future(Observed.begin(ASKED, [holds]))
    await held.wait()
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun


async def test_the_first_word_about_an_attempt_counts() -> None:
    viewer = Viewer()
    observed = await Observed.begin(ASKED, [viewer])
    await observed.answered(DONE)
    await observed.failed(ProviderError("too late"))
    await observed.answered(HttpResponse(status=500, reason="", body=None))
    assert (viewer.responses, viewer.errors) == ([DONE], [])
