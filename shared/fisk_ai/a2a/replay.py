"""A stored conversation as the blocks a reader sees: whole turns, newest kept.

A turn is what one stored message shows: a caller's words, or an agent's blocks together with the
results of its calls. Pure; rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from fisk_ai.a2a.blocks import call_block, result_block, text_block, thinking_block, trimmed
from fisk_ai.a2a.messages import (
    EventBlock,
    PromptBlockEvent,
    TextBlockEvent,
    ThinkingBlockEvent,
    ToolCallBlockEvent,
    ToolResultBlockEvent,
)
from fisk_ai.a2a.recorded import Times
from fisk_ai.llm.model import (
    Block,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.sessions.state import PendingTurn

REPLAY_LIMIT = 200
"""Blocks of one replay, rounded outward to a whole turn: what a person scrolls through."""

_Result = tuple[str, ToolResultBlockEvent]
"""A call's id and its result; each call's own stands behind it, the rest at its turn's end."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The blocks to send, oldest first, and whether older ones were left out."""

    blocks: tuple[EventBlock, ...]
    count: int
    truncated: bool


def replay(
    messages: Sequence[Message], pending: PendingTurn | None, limit: int, times: Times | None = None
) -> Replay:
    """Return the newest turns that hold at least ``limit`` blocks, at most 200, in whole turns."""
    turns = [turn for turn in _turns(messages, pending, times or Times()) if turn]
    wanted = min(limit, REPLAY_LIMIT)
    first, held = len(turns), 0
    while first > 0 and held < wanted:
        first -= 1
        held += len(turns[first])
    blocks = tuple(block for turn in turns[first:] for block in turn)
    return Replay(blocks, len(blocks), truncated=first > 0)


def _turns(
    messages: Sequence[Message], pending: PendingTurn | None, times: Times
) -> Iterable[list[EventBlock]]:
    for position, message in enumerate(messages):
        if message.role == "assistant":
            following = messages[position + 1] if position + 1 < len(messages) else None
            results = _results(following, times)
            yield _assistant(message, results, complete=True, time=times.reply())
        else:
            preceded = position > 0 and messages[position - 1].role == "assistant"
            if not preceded:
                yield [block for _, block in _results(message, times)]
            yield _prompts(message, times)
    if pending is not None:
        results = [_result(result, times.result()) for result in pending.results]
        message = pending.assistant.message
        yield _assistant(message, results, complete=False, time=times.reply())


def _results(message: Message | None, times: Times) -> list[_Result]:
    if message is None or message.role != "user":
        return []
    return [
        _result(block, times.result())
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


def _result(result: ToolResultBlock, time: str) -> _Result:
    block = result_block(result.tool_use_id, result.content, is_error=result.is_error)
    return result.tool_use_id, structs.replace(block, time=time)


def _prompts(message: Message, times: Times) -> list[EventBlock]:
    timed = [
        (block.text, times.prompt()) for block in message.content if isinstance(block, TextBlock)
    ]
    return [PromptBlockEvent(text=trimmed(text)[0], time=time) for text, time in timed if text]


def _assistant(
    message: Message, results: Sequence[_Result], *, complete: bool, time: str
) -> list[EventBlock]:
    left = list(results)
    final = _final_index(message) if complete else -1
    blocks: list[EventBlock] = []
    for index, block in enumerate(message.content):
        shown = _shown(block, index, final=index == final)
        if shown is None:
            continue
        blocks.append(structs.replace(shown, time=time))
        if isinstance(block, ToolUseBlock):
            blocks.extend(result for call, result in left if call == block.id)
            left = [(call, result) for call, result in left if call != block.id]
    return [*blocks, *(result for _, result in left)]


def _shown(
    block: Block, index: int, *, final: bool
) -> TextBlockEvent | ThinkingBlockEvent | ToolCallBlockEvent | None:
    if isinstance(block, TextBlock) and block.text:
        return text_block(block.text, index, final=final)
    if isinstance(block, ThinkingBlock) and block.text:
        return thinking_block(block.text, index)
    if isinstance(block, ToolUseBlock):
        return call_block(block.id, block.name, block.input)
    return None


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
