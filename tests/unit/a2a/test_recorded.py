"""A replayed block says when its record was written, wherever the fold has put it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.recorded import times_of
from fisk_ai.a2a.replay import replay
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Payload, Record
from fisk_ai.testing.session_records import (
    assistant,
    claim,
    journal,
    meta,
    result,
    terminal,
    user,
)


def timed(*payloads: Payload) -> list[Record]:
    """Return a journal whose record number N is of second N."""
    return [replace(each, time=second(each.seq)) for each in journal(*payloads)]


def second(number: int) -> str:
    return f"2026-07-24T09:{number // 60:02}:{number % 60:02}Z"


def shown(records: list[Record]) -> list[tuple[str, str]]:
    """Return what each replayed block says and when it was recorded."""
    state = fold(records)
    blocks = replay(state.messages, state.pending, 200, times_of(records)).blocks
    return [(_words(block), getattr(block, "time", "")) for block in blocks]


def _words(block: m.EventBlock) -> str:
    if isinstance(block, m.ToolCallBlockEvent):
        return block.id
    if isinstance(block, m.ToolResultBlockEvent):
        return block.output
    return str(getattr(block, "text", ""))


def test_each_block_has_the_time_of_its_own_record() -> None:
    records = timed(
        assistant("u1", "u2", say="look"),
        result("u2", "two"),
        claim(),
        result("u1", "one"),
        assistant(say="done", iteration=1),
        terminal(),
        user("more"),
        assistant("u3", iteration=2),
        result("u3", "three"),
    )
    assert shown(records) == [
        ("hello", second(1)),
        ("look", second(2)),
        ("u1", second(2)),
        ("one", second(5)),
        ("u2", second(2)),
        ("two", second(3)),
        ("done", second(6)),
        ("more", second(8)),
        ("u3", second(9)),
        ("three", second(10)),
    ]


def test_a_turn_in_the_middle_of_its_calls_has_its_times() -> None:
    records = timed(assistant("u1", "u2"), result("u1", "one"))
    assert shown(records) == [
        ("hello", second(1)), ("u1", second(2)), ("one", second(3)), ("u2", second(2))
    ]  # fmt: skip


@pytest.mark.parametrize("time", ["", "yesterday", "2026-07-24", "2026-07-24T09:15:02"])
def test_a_journal_without_usable_times_is_shown_without(time: str) -> None:
    records = [replace(each, time=time) for each in timed(assistant(say="hi"))]
    assert shown(records) == [("hello", ""), ("hi", "")]


TURNS = st.lists(st.sampled_from(["say", "call", "prompt", "end"]), max_size=12)


@given(TURNS)
def test_whatever_was_said_is_shown_with_the_second_it_names(turns: list[str]) -> None:
    payloads: list[Payload] = []
    iteration = 0
    for turn in turns:
        number = len(payloads) + 2
        if turn == "prompt":
            payloads.append(user(second(number)))
        elif turn == "end":
            payloads.append(terminal())
        else:
            calls = (f"u{number}",) if turn == "call" else ()
            payloads.append(assistant(*calls, say=second(number), iteration=iteration))
            payloads.extend(result(call, second(number + 1)) for call in calls)
            iteration += 1
    opening = replace(meta(), prompt=second(1))
    records = timed(*payloads)
    records[0] = replace(records[0], payload=opening)
    told = [(words, time) for words, time in shown(records) if not words.startswith("u")]
    assert all(words == time for words, time in told)
    assert len(told) == sum(turn != "end" for turn in turns) + turns.count("call") + 1
