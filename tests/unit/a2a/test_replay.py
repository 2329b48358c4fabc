"""A stored conversation is shown in whole turns, newest kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.replay import REPLAY_LIMIT, replay
from fisk_ai.llm.model import (
    Block,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.sessions.records import Assistant
from fisk_ai.sessions.state import PendingTurn


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


def agent(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def kinds(blocks: tuple[m.EventBlock, ...]) -> list[str]:
    return [type(block).__name__.removesuffix("BlockEvent") for block in blocks]


def pending(*content: Block, results: tuple[ToolResultBlock, ...] = ()) -> PendingTurn:
    assistant = Assistant(iteration=0, message=agent(*content), in_tokens=0, out_tokens=0)
    answered = frozenset(result.tool_use_id for result in results)
    return PendingTurn(assistant=assistant, results=results, answered=answered, deferred={})


CONVERSATION = (
    user(TextBlock("go")),
    agent(
        ThinkingBlock("hm", b"signed"),
        TextBlock("look"),
        ToolUseBlock("u1", "ls"),
        ToolUseBlock("u2", "rm"),
    ),
    user(ToolResultBlock("u2", "gone", is_error=True), ToolResultBlock("u1", "a b")),
    agent(TextBlock("first"), TextBlock("done")),
)


def test_a_result_stands_behind_its_call_whenever_it_finished() -> None:
    shown = replay(CONVERSATION, None, 100)
    assert kinds(shown.blocks) == [
        "Prompt", "Thinking", "Text", "ToolCall", "ToolResult", "ToolCall", "ToolResult",
        "Text", "Text",
    ]  # fmt: skip
    results = [block for block in shown.blocks if isinstance(block, m.ToolResultBlockEvent)]
    assert [(each.call_id, each.output, each.is_error) for each in results] == [
        ("u1", "a b", False),
        ("u2", "gone", True),
    ]
    assert (shown.count, shown.truncated) == (9, False)


def test_only_the_last_text_of_an_answer_is_final() -> None:
    texts = [b for b in replay(CONVERSATION, None, 9).blocks if isinstance(b, m.TextBlockEvent)]
    assert [(text.text, text.final) for text in texts] == [
        ("look", False),
        ("first", False),
        ("done", True),
    ]


def test_what_came_with_results_as_text_is_a_prompt_of_its_own() -> None:
    told = (*CONVERSATION[:2], user(*CONVERSATION[2].content, TextBlock("and now?")))
    assert kinds(replay(told, None, 1).blocks) == ["Prompt"]
    assert kinds(replay(told, None, 99).blocks)[-1] == "Prompt"


def test_a_result_without_its_call_goes_to_the_end_of_the_turn() -> None:
    told = (agent(ToolUseBlock("u1", "ls"), TextBlock("t")), user(ToolResultBlock("x", "?")))
    assert kinds(replay(told, None, 9).blocks) == ["ToolCall", "Text", "ToolResult"]


def test_empty_texts_are_not_shown_and_no_blocks_are_no_replay() -> None:
    shown = replay((user(TextBlock("")), agent(TextBlock(""), ThinkingBlock())), None, 5)
    assert (shown.blocks, shown.count, shown.truncated) == ((), 0, False)


def test_an_unfinished_turn_comes_last_and_has_no_answer() -> None:
    open_turn = pending(
        TextBlock("wait"), ToolUseBlock("u9", "rm"), results=(ToolResultBlock("u8", "x"),)
    )
    shown = replay(CONVERSATION, open_turn, 1)
    assert kinds(shown.blocks) == ["Text", "ToolCall", "ToolResult"]
    assert shown.truncated
    texts = [block for block in shown.blocks if isinstance(block, m.TextBlockEvent)]
    assert not texts[0].final


def test_the_newest_turns_win_and_none_is_cut() -> None:
    shown = replay(CONVERSATION, None, 3)
    assert kinds(shown.blocks)[0] == "Thinking"
    assert (shown.count, shown.truncated) == (8, True)


def test_a_replay_stops_at_its_limit_but_not_within_a_turn() -> None:
    many = tuple(user(TextBlock(str(number))) for number in range(REPLAY_LIMIT + 50))
    assert replay(many, None, 10_000).count == REPLAY_LIMIT
    wide = agent(*(TextBlock(str(number)) for number in range(REPLAY_LIMIT + 7)))
    assert replay((*many, wide), None, 1).count == REPLAY_LIMIT + 7


BLOCKS = st.one_of(
    st.builds(TextBlock, st.sampled_from(["", "t"])),
    st.builds(ToolUseBlock, st.sampled_from(["a", "b"]), st.just("n")),
)
RESULTS = st.one_of(
    st.builds(TextBlock, st.sampled_from(["", "t"])),
    st.builds(ToolResultBlock, st.sampled_from(["a", "b", "c"]), st.just("r")),
)
TURNS = st.lists(
    st.one_of(
        st.lists(BLOCKS, max_size=4).map(lambda found: agent(*found)),
        st.lists(RESULTS, max_size=4).map(lambda found: user(*found)),
    ),
    max_size=8,
)


@given(TURNS, st.integers(1, 20))
def test_a_shorter_replay_is_the_end_of_a_longer_one(told: list[Message], limit: int) -> None:
    whole = replay(told, None, 10_000)
    part = replay(told, None, limit)
    assert part.blocks == whole.blocks[len(whole.blocks) - part.count :]
    assert part.truncated == (part.count < whole.count)
    assert part.count >= min(limit, whole.count)


@pytest.mark.parametrize("limit", [1, 50])
def test_a_signature_never_leaves(limit: int) -> None:
    assert b"signed" not in repr(replay(CONVERSATION, None, limit).blocks).encode()
