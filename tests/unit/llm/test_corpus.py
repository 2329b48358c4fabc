"""Recorded traffic, over real HTTP: bodies as the API gets them, replies as it sends them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import pytest

from fisk_ai.errors import ProviderError
from fisk_ai.llm import fields
from fisk_ai.llm.anthropic.provider import AnthropicProvider
from fisk_ai.llm.blocks import message_from_json, message_to_json
from fisk_ai.llm.model import Delta, Message, Request, Response, TextBlock, Usage
from fisk_ai.llm.provider import ProviderConfig
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.testing.messages_endpoint import Answer, FakeMessagesEndpoint, text
from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON, compact, dumps

CORPUS: Final = Path(__file__).with_name("corpus")
STREAM: Final = {"content-type": "text/event-stream; charset=utf-8"}
BASE: Final = Request(
    model="claude-x",
    system_blocks=(),
    messages=(Message("user", (TextBlock("hello"),)),),
    tools=(),
    max_output_tokens=8192,
)
HALVED: Final = str.maketrans("", "", "\ufffd😀")
"""A character that came in two fragments is whole only in the reply."""


def names(folder: str, suffix: str = ".json") -> list[str]:
    return sorted(path.stem for path in (CORPUS / folder).glob(f"*{suffix}"))


def stored(folder: str, name: str, suffix: str = ".json") -> bytes:
    return (CORPUS / folder / f"{name}{suffix}").read_bytes()


@asynccontextmanager
async def asked(endpoint: FakeMessagesEndpoint) -> AsyncGenerator[AnthropicProvider]:
    model = AnthropicProvider(ProviderConfig("sk-ant-hunter2", endpoint.url))
    try:
        yield model
    finally:
        await model.close()


class Shown:
    """Listens to a stream; holds what was shown of each block."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    async def __call__(self, delta: Delta) -> None:
        self.texts[delta.index] = self.texts.get(delta.index, "") + delta.text


def tool(raw: RawJSON) -> ToolDef:
    found = rawjson.members(raw)
    return ToolDef(
        fields.string(found, "name"),
        fields.string(found, "description"),
        cast("Mapping[str, object]", json.loads(found["input_schema"])),
        fields.boolean(found, "defer_loading"),
    )


def request_of(raw: RawJSON) -> Request:
    """Read a request of the corpus; what it does not say is as in ``BASE``."""
    found = rawjson.members(raw)
    plain = {
        key: json.loads(value) for key, value in found.items() if key not in ("messages", "tools")
    }
    return replace(
        BASE,
        **plain | {"system_blocks": tuple(plain.get("system_blocks", ()))},
        messages=tuple(message_from_json(item) for item in fields.elements(found, "messages")),
        tools=tuple(tool(item) for item in fields.elements(found, "tools")),
    )


@pytest.mark.parametrize("name", names("requests"))
async def test_a_request_reaches_the_api_byte_for_byte(
    endpoint: FakeMessagesEndpoint, name: str
) -> None:
    found = rawjson.members(stored("requests", name))
    request = request_of(found["request"])
    golden = dumps(RawJSON(found["body"]))
    endpoint.queue(text("whole"), text("streamed"))
    async with asked(endpoint) as model:
        await model.call(request)
        await model.call(request, Shown())
    whole, streamed = endpoint.requests
    assert whole.raw == golden
    assert streamed.raw == golden[:-1] + b',"stream":true}'


async def require_as_expected(
    endpoint: FakeMessagesEndpoint, model: AnthropicProvider, name: str, reply: Response
) -> None:
    """Compare what a reply became, in the journal and in the next request."""
    expected = rawjson.members(stored("expected", name))
    told = (reply.id, reply.model, reply.stop_reason)
    assert told == tuple(fields.string(expected, key) for key in ("id", "model", "stop_reason"))
    assert reply.usage == Usage(**json.loads(expected["usage"]))
    line = dumps(message_to_json(Message("assistant", reply.content)))
    assert line == compact(expected["journal"])
    message = message_from_json(line)
    assert dumps(message_to_json(message)) == line
    endpoint.queue(text("and?"))
    await model.call(replace(BASE, messages=(*BASE.messages, message)))
    sent = rawjson.elements(rawjson.members(endpoint.requests[-1].raw)["messages"])
    assert sent[1] == compact(expected["wire"])


@pytest.mark.parametrize("name", names("replies"))
async def test_a_reply_is_read_stored_and_sent_back_as_it_came(
    endpoint: FakeMessagesEndpoint, name: str
) -> None:
    endpoint.queue(Answer(raw=stored("replies", name)))
    async with asked(endpoint) as model:
        await require_as_expected(endpoint, model, name, await model.call(BASE))


@pytest.mark.parametrize("name", names("streams", ".sse"))
async def test_a_streamed_reply_becomes_the_same_however_it_arrives(
    endpoint: FakeMessagesEndpoint, name: str
) -> None:
    raw = stored("streams", name, ".sse")
    async with asked(endpoint) as model:
        for size in (0, 1, 61):
            endpoint.queue(Answer(raw=raw, chunk_bytes=size, headers=STREAM))
            shown = Shown()
            reply = await model.call(BASE, shown)
            for index, words in shown.texts.items():
                whole = getattr(reply.content[index], "text", "")
                assert words.translate(HALVED) == whole.translate(HALVED)
            await require_as_expected(endpoint, model, name, reply)


@pytest.mark.parametrize("name", names("errors"))
async def test_a_refusal_has_its_class_and_its_words(
    endpoint: FakeMessagesEndpoint, name: str
) -> None:
    case = json.loads(stored("errors", name))
    answer = Answer(raw=case["body"], status=case["status"], headers=case["headers"])
    endpoint.queue(answer, answer)
    request = replace(BASE, **case.get("settings", {}))
    async with asked(endpoint) as model:
        for sink, key in ((None, "text"), (Shown(), "streamed_text")):
            with pytest.raises(ProviderError) as caught:
                await model.call(request, sink)
            told = (caught.value.failure, str(caught.value))
            assert told == (case["failure"], case.get(key, case["text"]))


@pytest.mark.parametrize("name", names("broken"))
async def test_a_stream_that_is_no_reply_has_its_class_and_its_words(
    endpoint: FakeMessagesEndpoint, name: str
) -> None:
    case = json.loads(stored("broken", name))
    raw = stored("broken", name, ".sse")
    async with asked(endpoint) as model:
        for size in (0, 1):
            endpoint.queue(Answer(raw=raw, chunk_bytes=size, headers=STREAM))
            with pytest.raises(ProviderError) as caught:
                await model.call(BASE, Shown())
            assert (caught.value.failure, str(caught.value)) == (case["failure"], case["text"])


def test_every_reply_has_its_expected_form_and_every_form_its_reply() -> None:
    assert set(names("expected")) == set(names("replies")) | set(names("streams", ".sse"))
    assert names("broken") == names("broken", ".sse")
