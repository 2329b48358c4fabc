"""A stored conversation as the blocks a reader sees: whole turns, newest kept.

A turn is what one stored message shows: a caller's words, or an agent's blocks together with the
results of its calls. Pure; rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fisk_ai.a2a.blocks import call_block, result_block, text_block, thinking_block, trimmed
from fisk_ai.a2a.messages import EventBlock, PromptBlockEvent
from fisk_ai.llm.model import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.state import PendingTurn

REPLAY_LIMIT = 200
"""Blocks of one replay, rounded outward to a whole turn: what a person scrolls through."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The blocks to send, oldest first, and whether older ones were left out."""

    blocks: tuple[EventBlock, ...]
    count: int
    truncated: bool


def replay(messages: Sequence[Message], pending: PendingTurn | None, limit: int) -> Replay:
    """Return the newest turns that hold at least ``limit`` blocks, at most 200, in whole turns."""
    turns = [turn for turn in _turns(messages, pending) if turn]
    wanted = min(limit, REPLAY_LIMIT)
    first, held = len(turns), 0
    while first > 0 and held < wanted:
        first -= 1
        held += len(turns[first])
    blocks = tuple(block for turn in turns[first:] for block in turn)
    return Replay(blocks, len(blocks), truncated=first > 0)


def _turns(messages: Sequence[Message], pending: PendingTurn | None) -> Iterable[list[EventBlock]]:
    for position, message in enumerate(messages):
        if message.role == "assistant":
            following = messages[position + 1] if position + 1 < len(messages) else None
            yield _assistant(message, _results(following), complete=True)
        else:
            preceded = position > 0 and messages[position - 1].role == "assistant"
            if not preceded:
                yield [_result(result) for result in _results(message)]
            yield _prompts(message)
    if pending is not None:
        yield _assistant(pending.assistant.message, pending.results, complete=False)


def _results(message: Message | None) -> list[ToolResultBlock]:
    if message is None or message.role != "user":
        return []
    return [block for block in message.content if isinstance(block, ToolResultBlock)]


def _prompts(message: Message) -> list[EventBlock]:
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    return [PromptBlockEvent(text=trimmed(text)[0]) for text in texts if text]


def _assistant(
    message: Message, results: Sequence[ToolResultBlock], *, complete: bool
) -> list[EventBlock]:
    left = list(results)
    final = _final_index(message) if complete else -1
    blocks: list[EventBlock] = []
    for index, block in enumerate(message.content):
        if isinstance(block, TextBlock) and block.text:
            blocks.append(text_block(block.text, index, final=index == final))
        elif isinstance(block, ThinkingBlock) and block.text:
            blocks.append(thinking_block(block.text, index))
        elif isinstance(block, ToolUseBlock):
            blocks.append(call_block(block.id, block.name, block.input))
            answers = [result for result in left if result.tool_use_id == block.id]
            left = [result for result in left if result.tool_use_id != block.id]
            blocks.extend(_result(result) for result in answers)
    return [*blocks, *(_result(result) for result in left)]


def _final_index(message: Message) -> int:
    """Return where the answer of a turn stands: its last text, if it calls no tool."""
    if any(isinstance(block, ToolUseBlock) for block in message.content):
        return -1
    texts = (
        index
        for index, block in enumerate(message.content)
        if isinstance(block, TextBlock) and block.text
    )
    return max(texts, default=-1)


def _result(result: ToolResultBlock) -> EventBlock:
    return result_block(result.tool_use_id, result.content, is_error=result.is_error)
