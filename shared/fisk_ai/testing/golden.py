"""One message of every kind and its exact JSON: what is always there, what is absent at zero."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from fisk_ai.a2a import messages as m

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
CONVERSATION = "T1"


def _event(block: m.EventBlock) -> m.EventMessage:
    return m.EventMessage(**HEADER, block=block)


GOLDEN: list[tuple[m.AnyMessage, str, dict[str, object]]] = [
    (m.RequestPrompt(**HEADER, prompt="Hi"), "request.prompt", {"prompt": "Hi"}),
    (
        m.RequestPrompt(
            **HEADER,
            prompt="Hi",
            context="c",
            tool_hints=("t",),
            conversation_token=CONVERSATION,
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
            conversation_token=CONVERSATION,
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
            conversation_token=CONVERSATION,
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
        m.RequestResume(**HEADER, session="t-1"),
        "request.resume",
        {"session": "t-1"},
    ),
    (
        m.RequestResume(**HEADER, conversation_token=CONVERSATION),
        "request.resume",
        {"conversation_token": "T1"},
    ),
    (
        m.RequestRead(**HEADER, conversation_token=CONVERSATION, replay=200),
        "request.read",
        {"conversation_token": "T1", "replay": 200},
    ),
    (m.Cancel(**HEADER), "cancel", {}),
    (m.Cancel(**HEADER, reason="bored"), "cancel", {"reason": "bored"}),
    (m.DiscoveryRequest(**HEADER), "discovery.request", {}),
    (m.Ack(**HEADER, accepted=False, reason="no"), "ack", {"accepted": False, "reason": "no"}),
    (
        m.Ack(**HEADER, accepted=True, conversation_token=CONVERSATION, max_tokens=9),
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
    (
        m.ToolRequest(**HEADER, name="rm", input=msgspec.Raw(b'{"path":"/x","n":1.0}')),
        "tool.request",
        {"name": "rm", "input": {"path": "/x", "n": 1.0}},
    ),
    (
        m.ToolReply(**HEADER, output="gone", exec=m.ExecMetadata(command="rm /x", exit_code=3)),
        "tool.reply",
        {"output": "gone", "exec": {"command": "rm /x", "exit_code": 3}},
    ),
    (_event(m.TextBlockEvent(text="")), "event.text", {"block": {"text": ""}}),
    (
        _event(m.TextBlockEvent(text="a", final=True, index=2, trimmed=True, time=TIME)),
        "event.text",
        {"block": {"text": "a", "final": True, "index": 2, "trimmed": True, "time": TIME}},
    ),
    (_event(m.ThinkingBlockEvent(text="h")), "event.thinking", {"block": {"text": "h"}}),
    (
        _event(m.TextDeltaBlockEvent(index=0, iteration=1, text="a")),
        "event.text_delta",
        {"block": {"index": 0, "iteration": 1, "text": "a"}},
    ),
    (
        _event(m.ThinkingDeltaBlockEvent(index=1, final=True)),
        "event.thinking_delta",
        {"block": {"index": 1, "final": True}},
    ),
    (_event(m.PromptBlockEvent(text="p")), "event.prompt", {"block": {"text": "p"}}),
    (
        _event(m.ToolCallBlockEvent(id="u", name="n", input=msgspec.Raw(b'{"a":1}'))),
        "event.tool_call",
        {"block": {"id": "u", "name": "n", "input": {"a": 1}}},
    ),
    (
        _event(m.ToolResultBlockEvent(call_id="u", output="o", is_error=True)),
        "event.tool_result",
        {"block": {"call_id": "u", "output": "o", "is_error": True}},
    ),
    (
        _event(m.AgentCallBlockEvent(id="u", name="n", task="t")),
        "event.agent_call",
        {"block": {"id": "u", "name": "n", "task": "t"}},
    ),
    (_event(m.StatusBlockEvent(phase="running")), "event.status", {"block": {"phase": "running"}}),
    (
        _event(m.WarningBlockEvent(kind="unknown", params=("p",), count=1)),
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
    (m.OperatorStatus(**HEADER), "operator.status", {}),
    (m.OperatorStatus(**HEADER, session="t-1"), "operator.status", {"session": "t-1"}),
    (
        m.OperatorState(
            **HEADER,
            held=True,
            task="R2",
            since=TIME,
            question=m.OpenQuestion(question_id="Q", kind="approve", tool_use_id="u1"),
        ),
        "operator.state",
        {
            "held": True,
            "task": "R2",
            "since": TIME,
            "question": {"question_id": "Q", "kind": "approve", "tool_use_id": "u1"},
        },
    ),
    (
        m.OperatorState(
            **HEADER,
            held=False,
            status="suspended",
            waiting=(
                m.WaitingCall(
                    tool_use_id="u1", kind="deferred", tool="x", arguments="{}", args_sha256=DIGEST
                ),
            ),
        ),
        "operator.state",
        {
            "held": False,
            "status": "suspended",
            "waiting": [
                {
                    "tool_use_id": "u1",
                    "kind": "deferred",
                    "tool": "x",
                    "arguments": "{}",
                    "args_sha256": DIGEST,
                }
            ],
        },
    ),
]
"""Messages, the last part of their ids, and what they hold beside the header."""

SHORT_OF_ID = {suffix: body for _, suffix, body in GOLDEN}
"""One body for every id."""


def raw(suffix: str, body: Mapping[str, object]) -> bytes:
    """Return the bytes of the message that ``body`` makes under an id."""
    frame = {"protocol": f"{m.NAMESPACE}.{suffix}", **FRAME, **body}
    return json.dumps(frame, separators=(",", ":")).encode()
