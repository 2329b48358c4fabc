"""What a run did, as the blocks a caller reads."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from fisk_ai.a2a import blocks
from fisk_ai.a2a import messages as m
from fisk_ai.llm.model import (
    Delta,
    ProviderBlock,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    Usage,
)

CONTENT = (
    ThinkingBlock("hm", b"secret"),
    ProviderBlock("search", b"{}"),
    TextBlock("a"),
    ToolUseBlock("u", "n"),
    TextBlock(""),
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_blocks_keep_their_place_and_leave_out_calls_and_signatures() -> None:
    told = blocks.blocks_of_response(Response(CONTENT, "tool_use"), terminal=False)
    assert told == [
        m.ThinkingBlockEvent(text="hm", index=0),
        m.TextBlockEvent(text="a", index=2),
        m.TextBlockEvent(text="", index=4),
    ]


def test_every_text_of_the_turns_last_reply_is_final() -> None:
    told = blocks.blocks_of_response(Response(CONTENT, "end_turn"), terminal=True)
    assert [each.final for each in told if isinstance(each, m.TextBlockEvent)] == [True, True]


@given(st.text(alphabet=st.characters(codec=None), max_size=6), st.integers(0, 3))
def test_a_cut_text_ends_on_a_character_and_says_that_it_was_cut(tail: str, short: int) -> None:
    text = "x" * (blocks.TEXT_LIMIT - short) + tail
    kept, cut = blocks.trimmed(text)
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    if not cut:
        assert kept == clean
        assert len(kept.encode()) <= blocks.TEXT_LIMIT
        return
    prefix = kept.removesuffix(blocks.TRIM_NOTE)
    assert kept != prefix
    assert clean.startswith(prefix)
    assert len(prefix.encode()) <= blocks.TEXT_LIMIT
    assert len(clean[: len(prefix) + 1].encode()) > blocks.TEXT_LIMIT


def test_a_text_cut_inside_a_block_of_code_says_so_outside_of_it() -> None:
    block = blocks.text_block("```\n" + "x" * blocks.TEXT_LIMIT, 0, final=True)
    assert block.trimmed
    assert block.text.endswith("xx\n```" + blocks.TRIM_NOTE)


def test_input_tokens_include_what_the_cache_served() -> None:
    usage = Usage(input=1, output=2, cache_read=4, cache_create=8, thinking=1)
    assert blocks.usage_counts(usage, llm_calls=3) == m.UsageCounts(
        input_tokens=13,
        output_tokens=2,
        cache_read_tokens=4,
        cache_create_tokens=8,
        thinking_tokens=1,
        llm_calls=3,
    )


@pytest.mark.parametrize(
    "arguments", [b"[1]", b"5", b"", b"{", b'{"a":NaN}', b"[" * 100_000, b'{"a":"\xff"}']
)
def test_arguments_that_are_no_object_stay_behind(arguments: bytes) -> None:
    assert blocks.call_block("u", "n", arguments).input is UNSET


def test_arguments_travel_as_the_model_wrote_them() -> None:
    sent = blocks.call_block("u", "n", b' {"b":1.0,"a":2,"a":3} ').input
    assert isinstance(sent, Raw)
    assert bytes(sent) == b'{"b":1.0,"a":2,"a":3}'


def test_half_a_surrogate_travels_as_a_replacement_and_the_rest_as_it_was_written() -> None:
    sent = blocks.call_block(
        "u", "n", rb'{"w":"\ud800 x","e":"\ud83d\ude00 \\ud800","n":1.0}'
    ).input
    assert isinstance(sent, Raw)
    assert bytes(sent) == rb'{"w":"\ufffd x","e":"\ud83d\ude00 \\ud800","n":1.0}'


def test_a_warning_without_a_kind_is_sent_as_unknown() -> None:
    assert blocks.warning_block("").kind == "unknown"


def test_fragments_are_gathered_until_they_are_old_large_or_final() -> None:
    clock = Clock()
    buffer = blocks.DeltaBuffer(clock)
    assert buffer.add(Delta(0, "text", "a"), 1) is None
    clock.now = 0.09
    assert buffer.add(Delta(0, "text", "b"), 1) is None
    clock.now = 0.1
    aged = buffer.add(Delta(0, "text", "c"), 1)
    assert aged == m.TextDeltaBlockEvent(index=0, iteration=1, text="abc")
    large = buffer.add(Delta(0, "text", "é" * (blocks.FLUSH_BYTES // 2)), 2)
    assert isinstance(large, m.TextDeltaBlockEvent)
    assert (large.iteration, large.final) == (2, False)
    last = buffer.add(Delta(0, "text", "", final=True), 2)
    assert last == m.TextDeltaBlockEvent(index=0, iteration=2, final=True)


def test_prose_and_reasoning_of_one_place_are_gathered_apart() -> None:
    buffer = blocks.DeltaBuffer(Clock())
    assert buffer.add(Delta(0, "text", "a"), 1) is None
    told = buffer.add(Delta(0, "thinking", "b", final=True), 1)
    assert told == m.ThinkingDeltaBlockEvent(index=0, iteration=1, text="b", final=True)


def test_fragments_beyond_the_buffers_are_dropped_with_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    buffer = blocks.DeltaBuffer(Clock())
    with caplog.at_level(logging.WARNING, "fisk_ai.a2a"):
        for index in range(blocks.DELTA_BLOCKS + 2):
            buffer.add(Delta(index, "text", "a"), 1)
    assert buffer.add(Delta(blocks.DELTA_BLOCKS, "text", "a", final=True), 1) is None
    assert len(caplog.records) == 1
    buffer.reset()
    assert buffer.add(Delta(99, "text", "a", final=True), 1) is not None
