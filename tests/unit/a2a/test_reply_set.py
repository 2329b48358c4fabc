"""One ack, gap-free numbers, one terminal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.blocks import TRIM_NOTE, call_block
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.errors import BusError, FiskError, MessageTooLargeError
from fisk_ai.testing.wire import RecordedWire

BLOCK = m.TextBlockEvent(text="hello")


def a_request() -> m.RequestPrompt:
    return m.RequestPrompt(**m.request_header(m.Sender(name="caller"), "agent"), prompt="Hi")


def a_set(wire: RecordedWire, *, stream: bool = True, keepalive_s: float = 15.0) -> ReplySet:
    return ReplySet(wire.publish, a_request(), "agent", stream=stream, keepalive_s=keepalive_s)


def a_result(reply_set: ReplySet, text: str = "done") -> m.Result:
    header = m.reply_header(reply_set.request, "agent")
    return m.Result(**header, stop_reason="end_turn", text=text)


def a_question(reply_set: ReplySet) -> m.ElicitRequestConfirm:
    header = m.reply_header(reply_set.request, "agent")
    return m.ElicitRequestConfirm(**header, question_id="Q1", question="?")


def keepalives() -> set[asyncio.Task[object]]:
    return {each for each in asyncio.all_tasks() if each.get_name() == "keep a set alive"}


def sequences(wire: RecordedWire) -> list[int]:
    return [message.sequence for message in wire.messages()]


async def test_a_set_counts_from_the_ack_to_the_one_final_message(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True, conversation_token="T1", max_tokens=5)
    await reply_set.event(BLOCK)
    await reply_set.question(a_question(reply_set))
    assert await reply_set.finish(a_result(reply_set))
    assert sequences(wire) == [1, 2, 3, 4]
    assert [dict(each) for each in wire.headers] == [{}, {}, {}, {m.FINAL_HEADER: "true"}]
    assert len({message.id for message in wire.messages()}) == 4
    assert {message.request for message in wire.messages()} == {reply_set.request.request}


async def test_nothing_follows_the_terminal(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set))
    assert not await reply_set.finish(a_result(reply_set))
    await reply_set.event(BLOCK)
    with pytest.raises(FiskError, match="over"):
        await reply_set.question(a_question(reply_set))
    assert sequences(wire) == [1, 2]


async def test_a_caller_without_a_stream_gets_questions_and_no_events(wire: RecordedWire) -> None:
    reply_set = a_set(wire, stream=False, keepalive_s=0.001)
    await reply_set.ack(accepted=True)
    await reply_set.event(BLOCK)
    assert not keepalives()
    await reply_set.question(a_question(reply_set))
    await reply_set.finish(a_result(reply_set))
    kinds = [type(message) for message in wire.messages()]
    assert kinds == [m.Ack, m.ElicitRequestConfirm, m.Result]


async def test_an_event_that_does_not_fit_is_dropped_with_a_line_in_the_log(
    wire: RecordedWire, caplog: pytest.LogCaptureFixture
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    with caplog.at_level(logging.WARNING, "fisk_ai.a2a"):
        await reply_set.event(m.TextBlockEvent(text="x" * codec.MESSAGE_LIMIT))
    await reply_set.finish(a_result(reply_set))
    assert sequences(wire) == [1, 2]
    assert "dropped io.choria.fisk-ai.v1.event.text" in caplog.text


@pytest.mark.parametrize("size", [codec.MESSAGE_LIMIT - 100, 3_000_000])
async def test_a_call_is_told_without_arguments_that_do_not_fit(
    wire: RecordedWire, size: int
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.event(call_block("u", "save", b'{"body":"%s"}' % (b"x" * size)))
    await reply_set.event(call_block("v", "save", b'{"body":"x"}'))
    await reply_set.finish(a_result(reply_set))
    assert wire.blocks() == [
        m.ToolCallBlockEvent(id="u", name="save"),
        m.ToolCallBlockEvent(id="v", name="save", input=Raw(b'{"body":"x"}')),
    ]
    assert sequences(wire) == [1, 2, 3, 4]


async def test_a_question_that_cannot_be_sent_fails(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    wire.broken = {2}
    with pytest.raises(BusError):
        await reply_set.question(a_question(reply_set))
    await reply_set.finish(a_result(reply_set))
    assert sequences(wire) == [1, 2]


async def test_an_ack_that_cannot_be_sent_is_an_error_for_its_owner(wire: RecordedWire) -> None:
    wire.broken = {1}
    with pytest.raises(BusError):
        await a_set(wire).ack(accepted=True)


async def test_a_terminal_that_cannot_be_sent_ends_the_set_all_the_same(
    wire: RecordedWire,
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    wire.broken = {2}
    with pytest.raises(BusError):
        await reply_set.finish(a_result(reply_set))
    assert not await reply_set.finish(a_result(reply_set))


@pytest.mark.parametrize("text", ["é" * 500_000, "\x01" * 700_000, "a" * 786_400])
async def test_an_answer_that_does_not_fit_is_cut_and_sent(wire: RecordedWire, text: str) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set, text))
    (terminal,) = (each for each in wire.messages() if isinstance(each, m.Result))
    assert terminal.text.endswith(TRIM_NOTE)
    assert text.startswith(terminal.text.removesuffix(TRIM_NOTE))


async def test_an_answer_cut_inside_a_block_of_code_says_so_outside_of_it(
    wire: RecordedWire,
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set, "Look:\n~~~~sh\n" + "ls ```\n" * 200_000))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.Result)
    assert terminal.text.removesuffix(TRIM_NOTE).endswith("\n~~~~")


async def test_an_answer_that_fits_is_sent_whole(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set, "a" * 700_000))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.Result)
    assert terminal.text == "a" * 700_000


async def test_an_error_with_half_a_surrogate_is_still_told(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    header = m.reply_header(reply_set.request, "agent")
    await reply_set.finish(m.ErrorTerminal(**header, error="bad \ud83d", code="failed"))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.ErrorTerminal)
    assert terminal.error == "bad \ufffd"


POISON = m.UsageCounts(input_tokens=-1)
NO_TEXT = cast("str", 5)
FACTS: list[dict[str, object]] = [
    {"usage": POISON},
    {"stop_reason": "End Turn"},
    {"trace_id": NO_TEXT},
    {"content_exported": "no"},
    {"traceparent": NO_TEXT},
    {"parent": NO_TEXT},
    {"must_understand": 2},
    {"recipient": m.Sender(name="two words")},
    {"usage": POISON, "stop_reason": "", "trace_id": 5, "content_exported": 1, "parent": b""},
]


@pytest.mark.parametrize("facts", FACTS)
async def test_an_answer_whose_facts_break_a_rule_is_still_told(
    wire: RecordedWire, facts: dict[str, object]
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    assert await reply_set.finish(structs.replace(a_result(reply_set), **facts))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.Result)
    assert (terminal.text, terminal.stop_reason) == ("done", "end_turn")
    assert sequences(wire) == [1, 2]


@pytest.mark.parametrize("facts", [*FACTS, {"code": NO_TEXT}, {"error": NO_TEXT}])
async def test_an_error_whose_facts_break_a_rule_is_still_told(
    wire: RecordedWire, facts: dict[str, object]
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    header = m.reply_header(reply_set.request, "agent")
    whole = m.ErrorTerminal(**header, error="no disk", code="failed", stop_reason="error")
    assert await reply_set.finish(structs.replace(whole, **facts))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.ErrorTerminal)
    assert (terminal.code, terminal.stop_reason) == ("failed", "error")
    assert terminal.error in (
        "no disk",
        "the task ended, and how it ended could not be told; see the log of the worker",
    )


async def test_a_terminal_of_which_nothing_can_be_told_is_a_failure(wire: RecordedWire) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set, NO_TEXT))
    terminal = wire.messages()[-1]
    assert isinstance(terminal, m.ErrorTerminal)
    assert (terminal.code, terminal.stop_reason) == ("failed", "error")
    assert wire.headers[-1] == {m.FINAL_HEADER: "true"}


@pytest.mark.parametrize("limit", [300_000, 6_000, 800])
async def test_a_terminal_is_cut_to_what_the_broker_takes(wire: RecordedWire, limit: int) -> None:
    async def publish(body: bytes, headers: Mapping[str, str]) -> None:
        if len(body) > limit:
            raise MessageTooLargeError("over the limit of the broker", room_bytes=limit)
        await wire.publish(body, headers)

    reply_set = ReplySet(publish, a_request(), "agent", stream=False)
    await reply_set.ack(accepted=True)
    await reply_set.finish(a_result(reply_set, "a" * 500_000))
    assert isinstance(wire.messages()[-1], m.Result)
    assert len(wire.bodies[-1]) == limit
    assert wire.headers[-1] == {m.FINAL_HEADER: "true"}
    assert sequences(wire) == [1, 2]


async def test_a_terminal_that_no_broker_takes_is_refused_as_too_large(
    wire: RecordedWire,
) -> None:
    async def publish(body: bytes, headers: Mapping[str, str]) -> None:
        if m.FINAL_HEADER in headers:
            raise MessageTooLargeError("over the limit of the broker", room_bytes=20)
        await wire.publish(body, headers)

    reply_set = ReplySet(publish, a_request(), "agent", stream=False)
    await reply_set.ack(accepted=True)
    with pytest.raises(MessageTooLargeError, match="of the broker"):
        await reply_set.finish(a_result(reply_set))


async def test_an_ack_with_a_fact_that_breaks_a_rule_goes_out_without_it(
    wire: RecordedWire,
) -> None:
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True, conversation_token="T1", max_tokens=-5)
    await reply_set.finish(a_result(reply_set))
    ack = wire.messages()[0]
    assert isinstance(ack, m.Ack)
    assert (ack.accepted, ack.conversation_token, ack.max_tokens) == (True, "T1", 0)


@given(st.sets(st.integers(2, 30)), st.integers(0, 20))
async def test_numbers_have_no_gap_whatever_sends_fail(broken: set[int], events: int) -> None:
    wire = RecordedWire(broken=broken)
    reply_set = a_set(wire)
    await reply_set.ack(accepted=True)
    for _ in range(events):
        await reply_set.event(BLOCK)
    wire.broken = set()
    await reply_set.finish(a_result(reply_set))
    assert sequences(wire) == list(range(1, len(wire.bodies) + 1))


async def test_a_silent_set_says_that_it_is_running(wire: RecordedWire) -> None:
    arrived = asyncio.Event()

    async def publish(body: bytes, headers: Mapping[str, str]) -> None:
        await wire.publish(body, headers)
        if wire.attempts == 3:
            arrived.set()

    reply_set = ReplySet(publish, a_request(), "agent", stream=True, keepalive_s=0.005)
    await reply_set.ack(accepted=True)
    await asyncio.wait_for(arrived.wait(), 5)
    await reply_set.finish(a_result(reply_set))
    assert wire.blocks()[:2] == [m.StatusBlockEvent(phase="running")] * 2
    assert sequences(wire) == list(range(1, len(wire.bodies) + 1))


async def test_a_keepalive_never_goes_out_beside_another_message(wire: RecordedWire) -> None:
    busy = overlapped = False

    async def publish(body: bytes, headers: Mapping[str, str]) -> None:
        nonlocal busy, overlapped
        overlapped |= busy
        busy = True
        await asyncio.sleep(0.003)
        busy = False
        await wire.publish(body, headers)

    reply_set = ReplySet(publish, a_request(), "agent", stream=True, keepalive_s=0.001)
    await reply_set.ack(accepted=True)
    for _ in range(5):
        await reply_set.event(BLOCK)
    await reply_set.finish(a_result(reply_set))
    assert not overlapped
    assert isinstance(wire.messages()[-1], m.Result)
    assert sequences(wire) == list(range(1, len(wire.bodies) + 1))


async def test_a_keepalive_that_fails_ends_the_keepalives_alone(wire: RecordedWire) -> None:
    reply_set = a_set(wire, keepalive_s=0.001)
    wire.broken = {2}
    await reply_set.ack(accepted=True)
    await asyncio.wait(keepalives(), timeout=5)
    assert not keepalives()
    await reply_set.finish(a_result(reply_set))
    assert wire.attempts == 3
    assert sequences(wire) == [1, 2]
