"""Bytes become messages or refusals, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.errors import MessageTooLargeError, ProtocolError

NS = "io.choria.fisk-ai.v1"


def frame(suffix: str, **body: object) -> dict[str, Any]:
    return {
        "protocol": f"{NS}.{suffix}",
        "id": "A1",
        "request": "R1",
        "conversation": "C1",
        "sequence": 1,
        "time": "2026-03-04T10:11:12Z",
        "sender": {"name": "billing"},
        **body,
    }


def packed(suffix: str, **body: object) -> bytes:
    return json.dumps(frame(suffix, **body)).encode()


def replaced(literal: str, suffix: str = "ack", field: str = "sequence") -> bytes:
    return packed(suffix, **{"accepted": True, "prompt": "p", field: "@@"}).replace(
        b'"@@"', literal.encode()
    )


def padded(size: int) -> bytes:
    body = packed("request.prompt", prompt="p", context="")
    return body.replace(b'"context": ""', b'"context": "' + b"x" * (size - len(body)) + b'"')


@pytest.mark.parametrize(
    "literal",
    ["NaN", "Infinity", "-1", "1.0", "1e2", "true", '"5"', "null", str(2**64), "9" * 5000],
)
def test_a_sequence_that_is_no_counting_number_is_refused(literal: str) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(replaced(literal))


def test_the_largest_sequence_is_taken() -> None:
    assert codec.decode(replaced(str(2**64 - 1))).sequence == 2**64 - 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"text"',
        b"{}",
        b'{"protocol": 5}',
        b"{" + b'"a":[' * 100_000,
        b'{"protocol":"io.choria.fisk-ai.v1.ack","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        packed("ack", accepted=True).replace(b"R1", b"\xff"),
        packed("ack", accepted=True) + b"{}",
        packed("ack", accepted=True, x="@").replace(b'"@"', b"NaN"),
        packed("ack", accepted=True).replace(b".v1.", b".v2."),
    ],
)
def test_a_body_that_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(body)


@pytest.mark.parametrize(
    "suffix",
    ["nothing", "event", "event.", "event.a.b", "event.text.x", "request.", "request.x",
     "elicit.request.x", "elicit.reply.x", "elicit", "tool.unknown"],
)  # fmt: skip
def test_an_unknown_id_is_refused(suffix: str) -> None:
    with pytest.raises(ProtocolError, match="unknown protocol"):
        codec.decode(packed(suffix, block={}, prompt="p", question_id="q"))


@pytest.mark.parametrize("suffix", ["event.text", "event.novelty"])
@pytest.mark.parametrize("body", [{}, {"block": []}, {"block": None}, {"block": "x"}])
def test_an_event_without_an_object_as_block_is_refused(
    suffix: str, body: dict[str, object]
) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(packed(suffix, **body))


@pytest.mark.parametrize("raw", [b'{"b" : 1.0, "a":"\\u00e9"}', b"{}", b'{"x":[1,\n2]}'])
def test_an_unknown_event_keeps_its_bytes(raw: bytes) -> None:
    body = packed("event.novelty", block="@").replace(b'"@"', raw)
    message = codec.decode(body)
    assert isinstance(message, m.EventMessage)
    assert message.block == m.UnknownBlockEvent(kind="novelty", raw=raw)
    assert b'"block":' + raw in codec.encode(message)


def test_an_unknown_event_without_bytes_cannot_be_sent(request_prompt: m.RequestPrompt) -> None:
    header = m.reply_header(request_prompt, "agent", 2)
    with pytest.raises(ProtocolError):
        codec.encode(m.EventMessage(**header, block=m.UnknownBlockEvent(kind="novelty", raw=b"")))


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("\\ud800", "\ufffd"),
        ("a\\uDFFFb", "a\ufffdb"),
        ("\\ud83d\\ud83d\\ude00", "\ufffd\U0001f600"),
        ("\\ud83d\\ude00", "\U0001f600"),
        ("\\\\ud800", "\\ud800"),
        ("\\ud800\\u0041", "\ufffdA"),
    ],
)
def test_half_a_surrogate_pair_becomes_the_replacement_character(escaped: str, text: str) -> None:
    message = codec.decode(replaced(f'"{escaped}"', "request.prompt", "prompt"))
    assert isinstance(message, m.RequestPrompt)
    assert message.prompt == text
    assert codec.decode(codec.encode(message)) == message


def test_a_text_that_json_cannot_carry_is_refused_when_sent(
    request_prompt: m.RequestPrompt,
) -> None:
    header = m.reply_header(request_prompt, "agent")
    with pytest.raises(ProtocolError):
        codec.encode(m.Result(**header, stop_reason="end_turn", text="\ud800"))


def test_the_size_limit_is_exact_in_both_directions() -> None:
    message = codec.decode(padded(codec.MESSAGE_LIMIT))
    assert isinstance(message, m.RequestPrompt)
    with pytest.raises(MessageTooLargeError, match="786433 bytes, over the 786432 byte limit"):
        codec.decode(padded(codec.MESSAGE_LIMIT + 1))
    spare = codec.MESSAGE_LIMIT - len(codec.encode(message))
    fitting = m.RequestPrompt(**_fields(message), prompt="p" * (spare + 1), context=message.context)
    assert len(codec.encode(fitting)) == codec.MESSAGE_LIMIT
    with pytest.raises(MessageTooLargeError):
        codec.encode(
            m.RequestPrompt(**_fields(message), prompt="p" * (spare + 2), context=message.context)
        )


def _fields(message: m.RequestPrompt) -> m.HeaderFields:
    return {
        "id": message.id,
        "request": message.request,
        "conversation": message.conversation,
        "sequence": message.sequence,
        "time": message.time,
        "sender": message.sender,
    }


@pytest.mark.parametrize("field", ["id", "request", "conversation"])
@pytest.mark.parametrize("word", ["", "../../etc/passwd", "a.b", "a b", "*", ">", "abc\n", "é"])
def test_a_word_that_could_leave_its_place_is_refused(field: str, word: str) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(packed("ack", **{"accepted": True, field: word}))


@pytest.mark.parametrize(
    "body",
    [
        frame("ack", accepted=True, sender={"name": "a.b"}),
        frame("ack", accepted=True, sender={"name": "a", "instance": "*"}),
        frame("ack", accepted=True, recipient={"instance": "a"}),
        frame("ack", accepted=True, request="r" * 65),
        frame("ack", accepted=True, conversation_token="t" * 129),
        frame("ack", accepted=True, conversation_token="a.b"),
        frame("ack", accepted=True, max_tokens=-1),
        frame("ack", accepted=1),
        frame("result", stop_reason=""),
        frame("result", stop_reason="End"),
        frame("result", stop_reason="a" * 65),
        frame("result", stop_reason="end_turn\n"),
        frame("request.prompt", prompt=""),
        frame("request.prompt", prompt="p", tool_hints="x"),
        frame("request.prompt", prompt="p", budget={"max_tokens": -1}),
        frame("request.prompt", prompt="p", replay=0),
        frame("request.read", conversation_token="t", replay=0),
        frame("elicit.reply.select", question_id="q", index=-1),
        frame("elicit.reply.approve", question_id="q", choice="maybe"),
        frame("elicit.reply.input", question_id="q", value="x" * 4097),
        frame("elicit.request.input", question_id="q", question="?", tool_use_id="x" * 257),
        frame("event.warning", block={"kind": ""}),
        frame("event.tool_call", block={"id": "u", "name": "n", "input": [1]}),
        frame("event.text", block={"text": "t", "time": "yesterday"}),
        frame("discovery.reply", name="x", version="v", model="m" * 129),
        frame("discovery.reply", name="x", version="v", tools=[{"name": "t", "behavior": None}]),
    ],
)
def test_a_value_outside_its_bounds_is_refused(body: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(json.dumps(body).encode())


@pytest.mark.parametrize(
    "time",
    ["2026-03-04T10:11:12Z", "2026-03-04T10:11:12.123456789Z", "2026-03-04T10:11:12.5+05:30"],
)
def test_any_zone_and_fraction_is_a_time(time: str) -> None:
    assert codec.decode(packed("ack", accepted=True, time=time)).time == time


@pytest.mark.parametrize(
    "time",
    ["", "2026-03-04", "2026-03-04T10:11:12", "2026-13-04T10:11:12Z", "2026-02-30T10:11:12Z",
     "2026-03-04T24:11:12Z", "2026-03-04T10:11:12+24:00", "2026-03-04T10:11:12Z\n", "now"],
)  # fmt: skip
def test_a_text_that_is_no_time_costs_the_message(time: str) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(packed("ack", accepted=True, time=time))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"tool_use_id": "", "kind": "approve", "choice": "no"}, "the answer names no tool call"),
        (
            {"tool_use_id": "u", "kind": "approve", "answer": "value", "value": "x"},
            'an approval is answered with a choice, not with "value"',
        ),
        (
            {"tool_use_id": "u", "kind": "confirm", "answer": "choice", "choice": "no"},
            "a confirmation is answered with confirmed",
        ),
        ({"tool_use_id": "u", "kind": "select", "answer": "index"}, "index"),
        ({"tool_use_id": "u", "kind": "what", "answer": "choice"}, "what"),
        ({"tool_use_id": "u", "kind": "approve", "answer": "choice", "choice": "x"}, "x"),
        (
            {"tool_use_id": "u", "kind": "approve", "choice": "no", "args_sha256": "zz"},
            "args_sha256",
        ),
    ],
)
def test_an_answer_that_does_not_fit_its_kind_is_refused(
    answer: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        codec.decode(packed("request.answer", conversation_token="t", answer=answer))


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        ({"kind": "approve", "choice": "once"}, "choice"),
        ({"kind": "confirm"}, "confirmed"),
        ({"kind": "confirm", "answer": "confirmed"}, "confirmed"),
        ({"kind": "select", "value": "a"}, "value"),
        ({"kind": "input", "value": ""}, "value"),
        ({"kind": "input", "no_operator": True}, "no_operator"),
        ({"kind": "approve", "answer": "no_operator"}, "no_operator"),
    ],
)
def test_an_answer_may_leave_out_which_field_it_uses(answer: dict[str, object], field: str) -> None:
    body = packed("request.answer", conversation_token="t", answer={"tool_use_id": "u", **answer})
    message = codec.decode(body)
    assert isinstance(message, m.RequestAnswer)
    assert message.answer.answer == field
    assert message.answer.no_operator is (field == "no_operator")


def test_a_peek_tells_whose_a_body_is_whatever_its_size() -> None:
    assert codec.peek(padded(codec.MESSAGE_LIMIT + 1)) == codec.Peek(f"{NS}.request.prompt", "R1")


@given(st.binary(max_size=200))
def test_no_bytes_escape_as_another_error(body: bytes) -> None:
    assert codec.peek(body) is None or body.lstrip().startswith(b"{")
    with pytest.raises(ProtocolError):
        codec.decode(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
SUFFIXES = sorted(
    {name.removeprefix(f"{NS}.") for name in m.MESSAGES} | {f"event.{name}" for name in m.BLOCKS}
)
FIELDS = ["id", "request", "sequence", "time", "sender", "prompt", "answer", "block", "options"]


@given(st.sampled_from(SUFFIXES), st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_mutated_message_escapes_as_another_error(
    suffix: str, changes: dict[str, object]
) -> None:
    body = frame(suffix, prompt="p", question_id="q", block={"text": "x"}) | changes
    try:
        message = codec.decode(json.dumps(body).encode())
    except ProtocolError:
        return
    assert codec.decode(codec.encode(message)) == message


def test_a_message_is_stamped_in_utc_to_the_microsecond() -> None:
    stamped = m.request_header(m.Sender(name="a"), "b")["time"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", stamped)
