"""The exact JSON of every message: what is always there, and what is absent at zero."""

from __future__ import annotations

import json
from typing import cast

import pytest

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.errors import ProtocolError
from fisk_ai.testing.golden import FRAME, GOLDEN, SHORT_OF_ID, raw

NS = "io.choria.fisk-ai.v1"
REQUIRED: dict[str, tuple[str, ...]] = {
    "request.prompt": ("prompt",),
    "request.answer": ("conversation_token", "answer"),
    "request.resume": ("conversation_token",),
    "request.read": ("conversation_token", "replay"),
    "cancel": (),
    "discovery.request": (),
    "ack": ("accepted",),
    "result": ("stop_reason",),
    "error": ("error",),
    "discovery.reply": ("name", "version"),
    "tool.request": ("name",),
    "tool.reply": (),
    "elicit.request.approve": ("question_id", "command", "display"),
    "elicit.request.confirm": ("question_id", "question"),
    "elicit.request.select": ("question_id", "question", "options"),
    "elicit.request.input": ("question_id", "question"),
    "elicit.reply.approve": ("question_id", "choice"),
    "elicit.reply.confirm": ("question_id", "confirmed"),
    "elicit.reply.select": ("question_id", "index"),
    "elicit.reply.input": ("question_id", "value"),
    "elicit.reply.no_operator": ("question_id",),
    "elicit.waiting": ("question_id",),
    "operator.status": (),
    "operator.state": ("held",),
}
REFUSED: dict[str, tuple[str, ...]] = {
    "request.prompt": ("answer",),
    "request.answer": ("prompt",),
    "request.resume": ("prompt", "answer", "replay"),
    "request.read": ("prompt", "answer"),
    "elicit.request.approve": ("question", "options", "default"),
    "elicit.request.confirm": ("command", "display", "tag", "options", "default"),
    "elicit.request.select": ("command", "display", "tag", "default"),
    "elicit.request.input": ("command", "display", "tag", "options"),
    "elicit.reply.approve": ("confirmed", "index", "value"),
    "elicit.reply.confirm": ("choice", "index", "value"),
    "elicit.reply.select": ("choice", "confirmed", "value"),
    "elicit.reply.input": ("choice", "confirmed", "index"),
    "elicit.reply.no_operator": ("choice", "confirmed", "index", "value"),
    "elicit.waiting": ("choice", "confirmed", "index", "value"),
}
BLOCK_REQUIRED: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("text",),
    "text_delta": ("index",),
    "thinking_delta": ("index",),
    "prompt": ("text",),
    "tool_call": ("id", "name"),
    "tool_result": ("call_id",),
    "agent_call": ("id", "name", "task"),
    "status": (),
    "warning": ("kind",),
}
HEADER_FIELDS = ("id", "request", "conversation", "sequence", "time", "sender")


@pytest.mark.parametrize(("message", "suffix", "body"), GOLDEN)
def test_a_message_is_exactly_this_json(
    message: m.AnyMessage, suffix: str, body: dict[str, object]
) -> None:
    assert json.loads(codec.encode(message)) == {"protocol": f"{NS}.{suffix}", **FRAME, **body}


@pytest.mark.parametrize(("message", "suffix", "body"), GOLDEN)
def test_a_message_comes_back_as_it_was_sent(
    message: m.AnyMessage, suffix: str, body: dict[str, object]
) -> None:
    assert codec.decode(raw(suffix, body)) == message


def test_every_id_of_the_protocol_has_a_golden_message() -> None:
    known = {name.removeprefix(f"{NS}.") for name in m.MESSAGES}
    assert set(SHORT_OF_ID) == known | {f"event.{suffix}" for suffix in m.BLOCKS}
    assert known == set(REQUIRED)


@pytest.mark.parametrize("field", HEADER_FIELDS)
@pytest.mark.parametrize("suffix", sorted(SHORT_OF_ID))
def test_a_message_without_a_header_field_is_refused(suffix: str, field: str) -> None:
    body = json.loads(raw(suffix, SHORT_OF_ID[suffix]))
    del body[field]
    with pytest.raises(ProtocolError):
        codec.decode(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("suffix", "field"), [(s, field) for s, fields in REQUIRED.items() for field in fields]
)
def test_a_message_without_a_required_field_is_refused(suffix: str, field: str) -> None:
    body = {name: value for name, value in SHORT_OF_ID[suffix].items() if name != field}
    with pytest.raises(ProtocolError, match=field):
        codec.decode(raw(suffix, body))


@pytest.mark.parametrize(
    ("suffix", "field"), [(s, field) for s, fields in BLOCK_REQUIRED.items() for field in fields]
)
def test_a_block_without_a_required_field_is_refused(suffix: str, field: str) -> None:
    block = SHORT_OF_ID[f"event.{suffix}"]["block"]
    short = {k: v for k, v in cast("dict[str, object]", block).items() if k != field}
    with pytest.raises(ProtocolError, match=field):
        codec.decode(raw(f"event.{suffix}", {"block": short}))


@pytest.mark.parametrize(
    ("suffix", "field"), [(s, field) for s, fields in REFUSED.items() for field in fields]
)
@pytest.mark.parametrize("value", [None, "x", 1])
def test_a_siblings_field_is_refused_by_name(suffix: str, field: str, value: object) -> None:
    with pytest.raises(ProtocolError, match=f"'{field}' has no place"):
        codec.decode(raw(suffix, {**SHORT_OF_ID[suffix], field: value}))


@pytest.mark.parametrize("suffix", sorted(SHORT_OF_ID))
def test_an_unknown_field_is_accepted_and_dropped(suffix: str) -> None:
    body = SHORT_OF_ID[suffix]
    assert codec.decode(raw(suffix, {**body, "novelty": {"a": [1]}})) == codec.decode(
        raw(suffix, body)
    )


@pytest.mark.parametrize("suffix", sorted(SHORT_OF_ID))
def test_a_null_is_refused_where_a_type_is_asked_for(suffix: str) -> None:
    for name in json.loads(raw(suffix, SHORT_OF_ID[suffix])):
        with pytest.raises(ProtocolError):
            codec.decode(raw(suffix, {**SHORT_OF_ID[suffix], name: None}))
