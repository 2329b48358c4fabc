"""Where a script stands follows from the conversation alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.llm.model import Message, TextBlock, ToolResultBlock
from fisk_ai.llm.scripted.pattern import compile_pattern
from fisk_ai.llm.scripted.position import next_turn
from fisk_ai.llm.scripted.script import Failure, Turn


def turn(number: int, when: str | None = None, failure: Failure | None = None) -> Turn:
    pattern = None if when is None else compile_pattern(when)
    content = () if failure else (TextBlock(f"turn {number}"),)
    return Turn(number=number, content=content, when=pattern, failure=failure)


def user(text: str) -> Message:
    return Message("user", (TextBlock(text),))


def result(text: str) -> Message:
    return Message("user", (ToolResultBlock("t", text),))


def reply(played: Turn) -> Message:
    return Message("assistant", played.content)


def number(found: Turn | None) -> int:
    return found.number if found else 0


def test_turns_without_a_condition_play_in_order() -> None:
    turns = [turn(1), turn(2)]
    messages = [user("a")]
    assert number(next_turn(turns, messages)) == 1
    messages += [reply(turns[0]), result("b")]
    assert number(next_turn(turns, messages)) == 2
    messages += [reply(turns[1]), user("c")]
    assert next_turn(turns, messages) is None


def test_a_condition_that_matches_goes_before_the_order() -> None:
    turns = [turn(1), turn(2, "joke"), turn(3)]
    assert number(next_turn(turns, [user("tell me a joke")])) == 2
    assert number(next_turn(turns, [user("hello")])) == 1


def test_a_turn_is_used_once() -> None:
    turns = [turn(1, "joke"), turn(2)]
    messages = [user("joke"), reply(turns[0]), user("joke")]
    assert number(next_turn(turns, messages)) == 2


def test_a_condition_is_searched_in_tool_output_too() -> None:
    turns = [turn(1), turn(2, "done: \\d+")]
    messages = [user("go"), reply(turns[0]), result("all done: 3")]
    assert number(next_turn(turns, messages)) == 2


def test_only_the_newest_message_is_searched() -> None:
    turns = [turn(1), turn(2, "joke"), turn(3)]
    messages = [user("hello"), reply(turns[0]), user("bye")]
    assert number(next_turn(turns, messages)) == 3


def test_a_failure_is_played_until_it_was() -> None:
    turns = [turn(1, failure="overloaded"), turn(2, failure="timeout"), turn(3)]
    messages = [user("a")]
    assert number(next_turn(turns, messages, failed_attempts=0)) == 1
    assert number(next_turn(turns, messages, failed_attempts=1)) == 2
    assert number(next_turn(turns, messages, failed_attempts=2)) == 3
    assert number(next_turn(turns, messages, failed_attempts=9)) == 3


def test_failures_passed_on_the_way_to_a_reply_count_as_used() -> None:
    turns = [turn(1, failure="overloaded"), turn(2), turn(3, failure="timeout"), turn(4)]
    messages = [user("a"), reply(turns[1]), user("b")]
    assert number(next_turn(turns, messages)) == 3
    assert number(next_turn(turns, messages, failed_attempts=1)) == 4


def test_an_empty_conversation_plays_the_first_turn() -> None:
    assert number(next_turn([turn(1, "x"), turn(2)], [])) == 2


_WORDS = ("joke", "help", "bye")
_FAILURES: list[Failure | None] = [None, None, None, "overloaded", "timeout"]
_TURNS = st.lists(
    st.tuples(st.none() | st.sampled_from(_WORDS), st.sampled_from(_FAILURES)), max_size=8
).map(lambda rows: [turn(i, when, failure) for i, (when, failure) in enumerate(rows, start=1)])
_PROMPTS = st.lists(st.sampled_from([*_WORDS, "nothing", "joke and help"]), max_size=8)


@dataclass(frozen=True)
class Step:
    """One call of a run: the history it was made with, and the turn a player with memory chose."""

    history: tuple[Message, ...]
    failed_attempts: int
    chosen: Turn | None


def remembering_player(turns: Sequence[Turn], prompts: Sequence[str]) -> Iterator[Step]:
    """Play a conversation with the used turns kept in memory, as one process could."""
    unused = list(turns)
    history: tuple[Message, ...] = ()
    for prompt in prompts:
        history = (*history, user(prompt))
        failed = 0
        while True:
            fitting = [t for t in unused if t.matches(prompt)]
            fitting += [t for t in unused if t.when is None]
            chosen = fitting[0] if fitting else None
            yield Step(history, failed, chosen)
            if chosen is None:
                return
            unused.remove(chosen)
            if chosen.failure is None:
                history = (*history, reply(chosen))
                break
            failed += 1


@given(_TURNS, _PROMPTS)
def test_a_resume_at_any_call_stands_where_a_run_with_memory_stood(
    turns: list[Turn], prompts: list[str]
) -> None:
    for step in remembering_player(turns, prompts):
        assert next_turn(turns, step.history, step.failed_attempts) == step.chosen


@given(_TURNS, _PROMPTS)
def test_no_turn_is_ever_played_twice(turns: list[Turn], prompts: list[str]) -> None:
    steps = list(remembering_player(turns, prompts))
    numbers = [number(next_turn(turns, step.history, step.failed_attempts)) for step in steps]
    assert len([n for n in numbers if n]) == len({n for n in numbers if n})
