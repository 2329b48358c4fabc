"""The provider against a real HTTP server: replies, failures, deadlines, and what never leaks."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import traceback
from dataclasses import replace

import pytest

import fisk_ai.llm.builtin  # noqa: F401 # pyright: ignore[reportUnusedImport] - registers
from fisk_ai.errors import ConfigError, ProviderError
from fisk_ai.llm import provider
from fisk_ai.llm.anthropic.provider import AT_ONCE_BYTES, AnthropicProvider
from fisk_ai.llm.model import (
    Delta,
    Message,
    ProviderBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from fisk_ai.llm.provider import ProviderConfig
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.testing.messages_endpoint import (
    Answer,
    FakeMessagesEndpoint,
    failure,
    text,
    tool_call,
)

KEY = "sk-ant-hunter2"
TOKEN = "gateway-hunter3"
AT_ONCE = {"retry-after-ms": "1"}
ONCE = {"x-should-retry": "false"}

REQUEST = Request(
    model="claude-x",
    system_blocks=("You are a cow.",),
    messages=(Message("user", (TextBlock("tell me a joke"),)),),
    tools=(ToolDef("say", "Says.", {"type": "object", "properties": {}}),),
    max_output_tokens=100_000,
)


class Asked:
    """A provider of one endpoint, closed with the block."""

    def __init__(self, endpoint: FakeMessagesEndpoint, *, call_timeout_s: float = 10.0) -> None:
        self.model = AnthropicProvider(
            ProviderConfig(api_key=KEY, base_url=endpoint.url, call_timeout_s=call_timeout_s)
        )

    async def __aenter__(self) -> AnthropicProvider:
        return self.model

    async def __aexit__(self, *_: object) -> None:
        await self.model.close()


async def failed(endpoint: FakeMessagesEndpoint, *, is_streamed: bool = False) -> ProviderError:
    async def sink(_: Delta) -> None:
        pass

    async with Asked(endpoint) as model:
        with pytest.raises(ProviderError) as caught:
            await model.call(REQUEST, sink if is_streamed else None)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


async def test_a_request_reaches_the_api_and_its_reply_comes_back(
    endpoint: FakeMessagesEndpoint,
) -> None:
    endpoint.queue(text("Moo"))
    async with Asked(endpoint) as model:
        reply = await model.call(REQUEST)
    assert reply.content == (TextBlock("Moo"),)
    assert (reply.stop_reason, reply.id, reply.model) == (
        "end_turn",
        "msg_fake",
        "claude-test-20260101",
    )
    assert reply.usage == Usage(input=10, output=5)
    (received,) = endpoint.requests
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"
    assert "traceparent" not in received.headers
    assert received.body["model"] == "claude-x"
    assert received.body["max_tokens"] == 100_000
    assert "stream" not in received.body


REPLY = Answer(
    spelling="""[
    {"type":"thinking","thinking":"hm \u2028","signature":"Eu/8="},
    {"type":"text","text":"Moo 😀"},
    {"type":"redacted_thinking","data":"EmwK"},
    {"type":"tool_use","id":"t1","name":"say","input":{"b":true,"a":"x"}}]""",
    stop_reason="tool_use",
    usage={
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
        "output_tokens_details": {"thinking_tokens": 1},
    },
)


async def test_a_streamed_reply_equals_the_whole_one(endpoint: FakeMessagesEndpoint) -> None:
    endpoint.queue(REPLY, REPLY)
    seen: list[Delta] = []

    async def sink(delta: Delta) -> None:
        seen.append(delta)

    async with Asked(endpoint) as model:
        whole = await model.call(REQUEST)
        streamed = await model.call(REQUEST, sink)
    assert whole.content[:3] == (
        ThinkingBlock("hm \u2028", b"Eu/8="),
        TextBlock("Moo 😀"),
        ProviderBlock("redacted_thinking", b'{"type":"redacted_thinking","data":"EmwK"}'),
    )
    assert streamed.usage == whole.usage
    assert [type(block) for block in streamed.content] == [type(block) for block in whole.content]
    assert streamed.content[:3] == whole.content[:3]
    for index, kind, words in ((0, "thinking", "hm \u2028"), (1, "text", "Moo 😀")):
        parts = [delta for delta in seen if delta.index == index]
        assert "".join(part.text for part in parts) == words
        assert {part.kind for part in parts} == {kind}
        assert parts[-1].final
    assert endpoint.requests[1].body["stream"] is True


async def test_what_the_model_wrote_goes_back_byte_for_byte(endpoint: FakeMessagesEndpoint) -> None:
    called = '{"type":"tool_use","id":"t1","name":"say","input":{"z":1.50,"a":[1e3],"z":2}}'
    signed = '{"z":1,"type":"of_tomorrow","a":"\\u00e9\\/"}'
    endpoint.queue(Answer(spelling=f"[{called},{signed}]", stop_reason="tool_use"), text("done"))
    async with Asked(endpoint) as model:
        reply = await model.call(REQUEST)
        history = (
            *REQUEST.messages,
            Message("assistant", reply.content),
            Message("user", (ToolResultBlock("t1", "Moo"),)),
        )
        await model.call(replace(REQUEST, messages=history))
    sent = endpoint.requests[1].raw
    assert called.encode() in sent
    assert signed.encode() in sent


@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (400, "invalid_request_error", "prompt is too long: 9 > 8", "context_exceeded"),
        (400, "invalid_request_error", "messages: bad", "refused"),
        (401, "authentication_error", f"invalid key {KEY}", "refused"),
        (403, "permission_error", "not for you", "refused"),
        (404, "not_found_error", "model: claude-x", "refused"),
        (413, "request_too_large", "over 32 MB", "context_exceeded"),
        (429, "rate_limit_error", "slow down", "rate_limited"),
        (503, "api_error", "away", "overloaded"),
        (529, "overloaded_error", "busy", "overloaded"),
        (500, "api_error", "broken", "failed"),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_each_refusal_of_the_api_is_an_outcome_of_its_own(
    endpoint: FakeMessagesEndpoint,
    status: int,
    kind: str,
    words: str,
    expected: str,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(failure(status, kind, words, headers=ONCE))
    error = await failed(endpoint, is_streamed=is_streamed)
    assert error.failure == expected
    assert str(status) in str(error)
    assert KEY not in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        failure(401, "authentication_error", f"the token {TOKEN} of key {KEY} is unknown"),
        Answer(status=500, raw=f"<h1>who is {TOKEN} with {KEY}?</h1>".encode(), headers=ONCE),
        Answer(raw=f'{{"role":"assistant","content":[{{"type":{{"{TOKEN}":"{KEY}"}}}}]}}'.encode()),
        Answer(raw=f"{TOKEN} {KEY}".encode()),
    ],
    ids=["error", "page", "odd reply", "no reply"],
)
async def test_no_error_holds_a_secret_that_a_server_says_back(
    endpoint: FakeMessagesEndpoint, answer: Answer
) -> None:
    endpoint.queue(answer)
    config = ProviderConfig(api_key=KEY, base_url=endpoint.url, secrets=(TOKEN,))
    assert KEY not in repr(config)
    assert TOKEN not in repr(config)
    model = AnthropicProvider(config)
    with pytest.raises(ProviderError) as caught:
        await model.call(REQUEST)
    await model.close()
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert TOKEN not in told


async def test_a_busy_api_is_asked_again_and_then_answers(endpoint: FakeMessagesEndpoint) -> None:
    busy = failure(529, "overloaded_error", "busy", headers=AT_ONCE)
    endpoint.queue(busy, busy, text("Moo"))
    async with Asked(endpoint) as model:
        reply = await model.call(REQUEST)
    assert reply.content == (TextBlock("Moo"),)
    assert [r.headers["x-stainless-retry-count"] for r in endpoint.requests] == ["0", "1", "2"]


async def test_an_api_that_stays_busy_fails_after_the_last_retry(
    endpoint: FakeMessagesEndpoint,
) -> None:
    endpoint.queue(*[failure(429, "rate_limit_error", "slow", headers=AT_ONCE)] * 3)
    assert (await failed(endpoint)).failure == "rate_limited"
    assert len(endpoint.requests) == 3


async def test_one_deadline_covers_all_retries(endpoint: FakeMessagesEndpoint) -> None:
    busy = failure(529, "overloaded_error", "busy", headers={"retry-after-ms": "600"})
    endpoint.queue(*[busy] * 3)
    async with Asked(endpoint, call_timeout_s=1.1) as model:
        with pytest.raises(ProviderError) as caught:
            await model.call(REQUEST)
    assert caught.value.failure == "overloaded"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_an_api_that_never_answers_is_left_at_the_deadline(
    endpoint: FakeMessagesEndpoint,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    async def sink(_: Delta) -> None:
        pass

    endpoint.queue(*[Answer(hang=True)] * 3)
    async with Asked(endpoint, call_timeout_s=0.2) as model:
        with pytest.raises(ProviderError) as caught:
            await model.call(REQUEST, sink if is_streamed else None)
    assert caught.value.failure == "timeout"


async def test_a_cancelled_call_is_cancelled_and_no_failure(endpoint: FakeMessagesEndpoint) -> None:
    endpoint.queue(Answer(hang=True))
    async with Asked(endpoint) as model:
        call = asyncio.ensure_future(model.call(REQUEST))
        await endpoint.received(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_an_error_of_the_listener_stays_its_own(endpoint: FakeMessagesEndpoint) -> None:
    async def sink(_: Delta) -> None:
        raise TimeoutError("the caller is gone")

    endpoint.queue(text("Moo"))
    async with Asked(endpoint) as model:
        with pytest.raises(TimeoutError, match="the caller is gone"):
            await model.call(REQUEST, sink)


@pytest.mark.parametrize("cut", [0, 1, 3, 6])
async def test_a_stream_that_is_cut_is_no_reply(endpoint: FakeMessagesEndpoint, cut: int) -> None:
    endpoint.queue(Answer(content=[{"type": "text", "text": "Moo"}], cut=cut))
    error = await failed(endpoint, is_streamed=True)
    assert error.failure == "failed"
    assert "broke off" in str(error)


async def test_a_whole_reply_that_is_cut_is_asked_for_again(endpoint: FakeMessagesEndpoint) -> None:
    endpoint.queue(Answer(content=[{"type": "text", "text": "Moo"}], cut=1), text("Moo again"))
    async with Asked(endpoint) as model:
        assert (await model.call(REQUEST)).content == (TextBlock("Moo again"),)


@pytest.mark.parametrize(
    ("kind", "expected"), [("overloaded_error", "overloaded"), ("api_error", "failed")]
)
async def test_an_error_inside_a_stream_has_its_class(
    endpoint: FakeMessagesEndpoint, kind: str, expected: str
) -> None:
    endpoint.queue(Answer(content=[{"type": "text", "text": "M"}], stream_error=kind))
    assert (await failed(endpoint, is_streamed=True)).failure == expected


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "<html>hello</html>",
        "null",
        '{"content":[{}]}',
        '{"content":null}',
        '{"content":',
        '{"role":"assistant","stop_reason":"end_turn","content":[{}]}',
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_reply_that_cannot_be_read_is_a_failure(
    endpoint: FakeMessagesEndpoint,
    raw: str,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(Answer(raw=raw))
    error = await failed(endpoint, is_streamed=is_streamed)
    assert error.failure == "failed"
    assert "cannot be read" in str(error)
    assert "at character" not in str(error)


@pytest.mark.parametrize(
    ("kind", "expected"), [("overloaded_error", "overloaded"), ("api_error", "failed")]
)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_an_error_that_comes_as_a_reply_has_its_class(
    endpoint: FakeMessagesEndpoint,
    kind: str,
    expected: str,
    is_streamed: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    endpoint.queue(
        Answer(raw=json.dumps({"type": "error", "error": {"type": kind, "message": "busy"}}))
    )
    error = await failed(endpoint, is_streamed=is_streamed)
    assert error.failure == expected
    assert f"({kind}): busy" in str(error)


async def test_a_server_that_is_not_there_is_named_without_the_key(
    endpoint: FakeMessagesEndpoint,
) -> None:
    await endpoint.stop()
    error = await failed(endpoint)
    assert error.failure == "failed"
    assert endpoint.url in str(error)


async def test_hostile_text_of_a_model_never_breaks_the_call(
    endpoint: FakeMessagesEndpoint,
) -> None:
    endpoint.queue(
        Answer(
            spelling='[{"type":"text","text":"\\ud83d\\u0000\u2028\u202e"},'
            '{"type":"tool_use","id":"t","name":"say","input":{"m":"\\udc80"}}]'
        ),
        text("fine"),
    )
    async with Asked(endpoint) as model:
        reply = await model.call(REQUEST)
        assert reply.content == (
            TextBlock("\ufffd\0\u2028\u202e"),
            ToolUseBlock("t", "say", b'{"m":"\\udc80"}'),
        )
        history = (*REQUEST.messages, Message("assistant", reply.content))
        await model.call(replace(REQUEST, messages=history))
    assert len(endpoint.requests) == 2


async def test_a_conversation_that_cannot_be_sent_is_a_failure_that_says_where(
    endpoint: FakeMessagesEndpoint,
) -> None:
    broken = Message("assistant", (ProviderBlock("of_tomorrow", b"null"),))
    async with Asked(endpoint) as model:
        with pytest.raises(ProviderError) as caught:
            await model.call(replace(REQUEST, messages=(*REQUEST.messages, broken)))
    assert caught.value.failure == "failed"
    assert str(caught.value).startswith(
        "the conversation cannot be sent: message 1: content block 0: "
    )
    assert endpoint.requests == []


async def test_a_long_conversation_is_written_without_holding_up_the_loop(
    endpoint: FakeMessagesEndpoint,
) -> None:
    long = Message("user", (TextBlock("<" * (AT_ONCE_BYTES + 1)),))
    endpoint.queue(text("Moo"))
    async with Asked(endpoint) as model:
        await model.call(replace(REQUEST, messages=(long,)))
    assert len(endpoint.requests[0].raw) > 6 * AT_ONCE_BYTES


async def test_many_runs_share_one_provider(endpoint: FakeMessagesEndpoint) -> None:
    endpoint.queue(*[tool_call("say", {"n": n}) for n in range(5)])
    async with Asked(endpoint) as model:
        replies = await asyncio.gather(*[model.call(REQUEST) for _ in range(5)])
    inputs = {
        block.input for r in replies for block in r.content if isinstance(block, ToolUseBlock)
    }
    assert inputs == {json.dumps({"n": n}, separators=(",", ":")).encode() for n in range(5)}


def test_it_streams_and_searches_tools(endpoint: FakeMessagesEndpoint) -> None:
    capabilities = Asked(endpoint).model.capabilities()
    assert capabilities.provider == capabilities.semconv_provider == "anthropic"
    assert capabilities.supports_streaming
    assert capabilities.supports_tool_search
    assert capabilities == provider.capabilities("anthropic")


@pytest.mark.parametrize("key", ["", "two words", "line\n", "\u00e9", "tab\t"])
def test_a_key_that_can_be_none_is_refused_before_anything_is_sent(key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        provider.new("anthropic", ProviderConfig(api_key=key))
    assert refused.value.key == "ANTHROPIC_API_KEY"
    assert not key or key not in str(refused.value)


def test_options_are_refused(endpoint: FakeMessagesEndpoint) -> None:
    words = re.escape('invalid anthropic llm options: llm.options: unknown key "speed"')
    with pytest.raises(ConfigError, match=words):
        provider.new("anthropic", ProviderConfig(api_key=KEY, options={"speed": 1}))


def test_an_address_that_may_not_be_used_is_refused() -> None:
    with pytest.raises(ConfigError, match="--base-url / ANTHROPIC_BASE_URL"):
        AnthropicProvider(ProviderConfig(api_key=KEY, base_url="ftp://host"))


async def test_a_key_that_travels_in_clear_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        model = AnthropicProvider(ProviderConfig(api_key=KEY, base_url="http://models.internal"))
    await model.close()
    assert "travels unencrypted" in caplog.text
    assert KEY not in caplog.text


async def test_the_environment_of_the_process_changes_no_request(
    endpoint: FakeMessagesEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-other")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    endpoint.queue(text("Moo"))
    async with Asked(endpoint) as model:
        await model.call(REQUEST)
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "x-api-key" not in endpoint.requests[0].headers


async def test_a_custom_header_that_cannot_be_sent_is_not_given_away(
    endpoint: FakeMessagesEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Token: hunter3\x01")
    error = await failed(endpoint)
    assert error.failure == "failed"
    assert "hunter3" not in "".join(traceback.format_exception(error))


async def test_a_proxy_that_cannot_be_used_is_a_failure_without_its_password(
    endpoint: FakeMessagesEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://user:hunter3@proxy")
    error = await failed(endpoint)
    assert "proxy" in str(error)
    assert "hunter3" not in "".join(traceback.format_exception(error))
