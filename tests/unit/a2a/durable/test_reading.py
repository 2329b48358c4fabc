"""A reply set as it is read from the stream, and what of a run is stored at all."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable.reading import ReadSet, Reply
from fisk_ai.a2a.durable.reply_set import Level, told
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import ProtocolMismatchError

REQUEST = m.RequestPrompt(**m.request_header(m.Sender(name="b"), "b"), prompt="x")


def reply(message: m.AnyMessage, sequence: int) -> Reply:
    numbered = structs.replace(message, sequence=sequence)
    stored = Stored("s", sequence, codec.encode(numbered))
    return Reply(REQUEST.request, sequence, numbered, stored)


def ack() -> m.Ack:
    return m.Ack(**m.reply_header(REQUEST, "b"), accepted=True)


def event() -> m.EventMessage:
    return m.EventMessage(**m.reply_header(REQUEST, "b"), block=m.StatusBlockEvent(phase="running"))


def result() -> m.Result:
    return m.Result(**m.reply_header(REQUEST, "b"), stop_reason="end_turn")


@given(st.lists(st.integers(min_value=0, max_value=5), max_size=4))
def test_a_set_is_what_came_behind_its_newest_beginning(tries: list[int]) -> None:
    found = ReadSet()
    for events in tries:
        found.take(reply(ack(), 1))
        for number in range(events):
            found.take(reply(event(), number + 2))
    found.take(reply(ack(), 1))
    found.take(reply(event(), 2))
    assert found.take(reply(result(), 3)) == "ended"
    assert [message.sequence for message in found.messages] == [1, 2, 3]
    assert (found.restarts, found.missed) == (len(tries), 0)


def test_what_comes_behind_the_terminal_is_of_nobody() -> None:
    found = ReadSet()
    found.take(reply(ack(), 1))
    found.take(reply(result(), 2))
    assert found.take(reply(ack(), 1)) == "ignored"
    assert found.terminal is not None


def test_messages_that_the_stream_holds_no_more_are_counted() -> None:
    found = ReadSet()
    found.take(reply(ack(), 1))
    found.take(reply(event(), 4))
    assert found.missed == 2


def test_a_message_that_is_no_reply_has_no_place_in_a_set() -> None:
    with pytest.raises(ProtocolMismatchError):
        ReadSet().take(reply(REQUEST, 1))


@pytest.mark.parametrize(
    ("block", "levels"),
    [
        (m.StatusBlockEvent(phase="running"), ["status", "full"]),
        (m.WarningBlockEvent(kind="x"), ["status", "full"]),
        (m.TextBlockEvent(text="a", final=True), ["status", "full"]),
        (m.TextBlockEvent(text="a"), ["full"]),
        (m.ThinkingBlockEvent(text="a"), ["full"]),
        (m.ToolResultBlockEvent(call_id="a"), ["full"]),
        (m.TextDeltaBlockEvent(index=0, text="a"), []),
        (m.ThinkingDeltaBlockEvent(index=0, text="a"), []),
    ],
)
def test_a_channel_is_told_what_its_level_says(block: m.EventBlock, levels: list[str]) -> None:
    every: tuple[Level, ...] = ("status", "full")
    assert [level for level in every if told(level, block) is not None] == levels


def test_the_input_of_a_call_is_told_at_the_full_level_alone() -> None:
    block = m.ToolCallBlockEvent(id="a", name="ls", input=msgspec.Raw(b'{"path": "/secret"}'))
    short = told("status", block)
    assert isinstance(short, m.ToolCallBlockEvent)
    assert (short.name, b"secret" in codec.encode(_of(short))) == ("ls", False)
    assert told("full", block) == block


def _of(block: m.EventBlock) -> m.EventMessage:
    return m.EventMessage(**m.reply_header(REQUEST, "b"), block=block)
