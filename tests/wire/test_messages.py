"""The exact JSON of every message: what is always there, and what is absent at zero."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import msgspec
import pytest

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.errors import ProtocolError

NS = "io.choria.fisk-ai.v1"
TIME = "2026-03-04T10:11:12Z"
HEADER: m.HeaderFields = {
    "id": "A1",
    "request": "R1",
    "conversation": "C1",
    "sequence": 0,
    "time": TIME,
    "sender": m.Sender(name="billing"),
}
FRAME: dict[str, object] = {
    "id": "A1",
    "request": "R1",
    "conversation": "C1",
    "sequence": 0,
    "time": TIME,
    "sender": {"name": "billing"},
}
DIGEST = "0" * 64


def event(block: m.EventBlock) -> m.EventMessage:
    return m.EventMessage(**HEADER, block=block)


GOLDEN: list[tuple[m.AnyMessage, str, dict[str, object]]] = [
    (m.RequestPrompt(**HEADER, prompt="Hi"), "request.prompt", {"prompt": "Hi"}),
    (
        m.RequestPrompt(
            **HEADER,
            prompt="Hi",
            context="c",
            tool_hints=("t",),
            conversation_token="T1",
            budget=m.Budget(max_tokens=4),
            stream=False,
            deltas=True,
            replay=3,
            force=True,
        ),
        "request.prompt",
        {
            "prompt": "Hi",
            "context": "c",
            "tool_hints": ["t"],
            "conversation_token": "T1",
            "budget": {"max_tokens": 4},
            "stream": False,
            "deltas": True,
            "replay": 3,
            "force": True,
        },
    ),
    (
        m.RequestAnswer(
            **HEADER,
            conversation_token="T1",
            answer=m.Answer(tool_use_id="u1", kind="approve", choice="once", args_sha256=DIGEST),
        ),
        "request.answer",
        {
            "conversation_token": "T1",
            "answer": {
                "tool_use_id": "u1",
                "kind": "approve",
                "answer": "choice",
                "choice": "once",
                "args_sha256": DIGEST,
            },
        },
    ),
    (
        m.RequestAnswer(
            **HEADER,
            conversation_token="T1",
            answer=m.Answer(tool_use_id="u1", kind="input", no_operator=True),
        ),
        "request.answer",
        {
            "conversation_token": "T1",
            "answer": {
                "tool_use_id": "u1",
                "kind": "input",
                "answer": "no_operator",
                "no_operator": True,
            },
        },
    ),
    (
        m.RequestResume(**HEADER, conversation_token="T1"),
        "request.resume",
        {"conversation_token": "T1"},
    ),
    (
        m.RequestRead(**HEADER, conversation_token="T1", replay=200),
        "request.read",
        {"conversation_token": "T1", "replay": 200},
    ),
    (m.Cancel(**HEADER), "cancel", {}),
    (m.Cancel(**HEADER, reason="bored"), "cancel", {"reason": "bored"}),
    (m.DiscoveryRequest(**HEADER), "discovery.request", {}),
    (m.Ack(**HEADER, accepted=False, reason="no"), "ack", {"accepted": False, "reason": "no"}),
    (
        m.Ack(**HEADER, accepted=True, conversation_token="T1", max_tokens=9),
        "ack",
        {"accepted": True, "conversation_token": "T1", "max_tokens": 9},
    ),
    (m.Result(**HEADER, stop_reason="end_turn"), "result", {"stop_reason": "end_turn"}),
    (
        m.Result(**HEADER, stop_reason="end_turn", text="x", usage=m.UsageCounts()),
        "result",
        {"stop_reason": "end_turn", "text": "x", "usage": {}},
    ),
    (
        m.ErrorTerminal(
            **HEADER,
            error="no",
            code="failed",
            stop_reason="error",
            usage=m.UsageCounts(input_tokens=3, llm_calls=1),
        ),
        "error",
        {
            "error": "no",
            "code": "failed",
            "stop_reason": "error",
            "usage": {"input_tokens": 3, "llm_calls": 1},
        },
    ),
    (
        m.DiscoveryReply(
            **HEADER,
            name="x",
            version="dev",
            tools=(
                m.ToolDescriptor(
                    name="rm",
                    input_schema={"type": "object"},
                    behavior=m.BehaviorHints(read_only=False),
                ),
            ),
        ),
        "discovery.reply",
        {
            "name": "x",
            "version": "dev",
            "tools": [
                {
                    "name": "rm",
                    "input_schema": {"type": "object"},
                    "behavior": {"read_only": False},
                }
            ],
        },
    ),
    (event(m.TextBlockEvent(text="")), "event.text", {"block": {"text": ""}}),
    (
        event(m.TextBlockEvent(text="a", final=True, index=2, trimmed=True, time=TIME)),
        "event.text",
        {"block": {"text": "a", "final": True, "index": 2, "trimmed": True, "time": TIME}},
    ),
    (event(m.ThinkingBlockEvent(text="h")), "event.thinking", {"block": {"text": "h"}}),
    (
        event(m.TextDeltaBlockEvent(index=0, iteration=1, text="a")),
        "event.text_delta",
        {"block": {"index": 0, "iteration": 1, "text": "a"}},
    ),
    (
        event(m.ThinkingDeltaBlockEvent(index=1, final=True)),
        "event.thinking_delta",
        {"block": {"index": 1, "final": True}},
    ),
    (event(m.PromptBlockEvent(text="p")), "event.prompt", {"block": {"text": "p"}}),
    (
        event(m.ToolCallBlockEvent(id="u", name="n", input=msgspec.Raw(b'{"a":1}'))),
        "event.tool_call",
        {"block": {"id": "u", "name": "n", "input": {"a": 1}}},
    ),
    (
        event(m.ToolResultBlockEvent(call_id="u", output="o", is_error=True)),
        "event.tool_result",
        {"block": {"call_id": "u", "output": "o", "is_error": True}},
    ),
    (
        event(m.AgentCallBlockEvent(id="u", name="n", task="t")),
        "event.agent_call",
        {"block": {"id": "u", "name": "n", "task": "t"}},
    ),
    (event(m.StatusBlockEvent(phase="running")), "event.status", {"block": {"phase": "running"}}),
    (
        event(m.WarningBlockEvent(kind="unknown", params=("p",), count=1)),
        "event.warning",
        {"block": {"kind": "unknown", "params": ["p"], "count": 1}},
    ),
    (
        m.ElicitRequestApprove(
            **HEADER,
            question_id="Q",
            tool_use_id="u",
            command="node rm",
            display="node rm x",
            tag="ai:confirm",
            args_sha256=DIGEST,
            wait_ms=5,
        ),
        "elicit.request.approve",
        {
            "question_id": "Q",
            "tool_use_id": "u",
            "command": "node rm",
            "display": "node rm x",
            "tag": "ai:confirm",
            "args_sha256": DIGEST,
            "wait_ms": 5,
        },
    ),
    (
        m.ElicitRequestConfirm(**HEADER, question_id="Q", question="?"),
        "elicit.request.confirm",
        {"question_id": "Q", "question": "?"},
    ),
    (
        m.ElicitRequestSelect(**HEADER, question_id="Q", question="?", options=("a",)),
        "elicit.request.select",
        {"question_id": "Q", "question": "?", "options": ["a"]},
    ),
    (
        m.ElicitRequestInput(**HEADER, question_id="Q", question="?", default="d"),
        "elicit.request.input",
        {"question_id": "Q", "question": "?", "default": "d"},
    ),
    (
        m.ElicitReplyApprove(**HEADER, question_id="Q", choice="no"),
        "elicit.reply.approve",
        {"question_id": "Q", "choice": "no"},
    ),
    (
        m.ElicitReplyConfirm(**HEADER, question_id="Q", confirmed=False),
        "elicit.reply.confirm",
        {"question_id": "Q", "confirmed": False},
    ),
    (
        m.ElicitReplySelect(**HEADER, question_id="Q", index=0),
        "elicit.reply.select",
        {"question_id": "Q", "index": 0},
    ),
    (
        m.ElicitReplyInput(**HEADER, question_id="Q", value=""),
        "elicit.reply.input",
        {"question_id": "Q", "value": ""},
    ),
    (
        m.ElicitReplyNoOperator(**HEADER, question_id="Q"),
        "elicit.reply.no_operator",
        {"question_id": "Q"},
    ),
    (m.ElicitWaiting(**HEADER, question_id="Q"), "elicit.waiting", {"question_id": "Q"}),
]

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
SHORT_OF_ID = {suffix: body for _, suffix, body in GOLDEN}
HEADER_FIELDS = ("id", "request", "conversation", "sequence", "time", "sender")


def raw(suffix: str, body: Mapping[str, object]) -> bytes:
    frame = {"protocol": f"{NS}.{suffix}", **FRAME, **body}
    return json.dumps(frame, separators=(",", ":")).encode()


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
