"""A stored conversation as lines, whole and in the order of a replay.

A replay sends the newest turns and cuts long texts for the wire; here nothing is left out. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fisk_ai.llm.model import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.render import calls
from fisk_ai.render.markdown import styled, wants_style
from fisk_ai.render.width import columns_of
from fisk_ai.sessions.state import PendingTurn
from fisk_ai.text.sanitise import for_display


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person said."""

    text: str


@dataclass(frozen=True, slots=True)
class Prose:
    """What the model said; ``is_answer`` marks the last text of a turn that calls no tool."""

    text: str
    is_answer: bool


Part = Prompt | Prose | ThinkingBlock | ToolUseBlock | ToolResultBlock
"""One line or more of a transcript."""


def parts(messages: Sequence[Message], pending: PendingTurn | None) -> Iterator[Part]:
    """Yield a conversation in reading order: each result stands right behind its call."""
    for position, message in enumerate(messages):
        following = messages[position + 1] if position + 1 < len(messages) else None
        if message.role == "assistant":
            yield from _reply(message, _results(following), complete=True)
            continue
        if position == 0 or messages[position - 1].role != "assistant":
            yield from _results(message)
        yield from (Prompt(b.text) for b in message.content if isinstance(b, TextBlock) and b.text)
    if pending is not None:
        yield from _reply(pending.assistant.message, pending.results, complete=False)


def _results(message: Message | None) -> list[ToolResultBlock]:
    if message is None or message.role != "user":
        return []
    return [block for block in message.content if isinstance(block, ToolResultBlock)]


def _reply(
    message: Message, results: Sequence[ToolResultBlock], *, complete: bool
) -> Iterator[Part]:
    left = list(results)
    answer = _answer(message) if complete else None
    for block in message.content:
        if isinstance(block, TextBlock) and block.text:
            yield Prose(block.text, is_answer=block is answer)
        elif isinstance(block, ThinkingBlock) and block.text:
            yield block
        elif isinstance(block, ToolUseBlock):
            yield block
            yield from (result for result in left if result.tool_use_id == block.id)
            left = [result for result in left if result.tool_use_id != block.id]
    yield from left


def _answer(message: Message) -> TextBlock | None:
    if any(isinstance(block, ToolUseBlock) for block in message.content):
        return None
    texts = [block for block in message.content if isinstance(block, TextBlock) and block.text]
    return texts[-1] if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Prints a conversation to standard output, every string of it sanitised."""

    show_thinking: bool
    show_results: bool
    no_color: bool

    def print(self, messages: Sequence[Message], pending: PendingTurn | None) -> None:
        """Print the conversation behind a line that opens it."""
        print("\n--- transcript ---")
        shown = list(parts(messages, pending))
        for position, part in enumerate(shown):
            following = shown[position + 1] if position + 1 < len(shown) else None
            self._print(part, following)

    def _print(self, part: Part, following: Part | None) -> None:
        match part:
            case Prompt(text):
                print(f"\n> {for_display(text)}")
            case Prose(text, is_answer):
                print("\n--- answer ---" if is_answer else "")
                print(self._prose(text))
            case ThinkingBlock(text):
                if self.show_thinking:
                    print(f"\n[thinking]\n{for_display(text)}")
            case ToolUseBlock(_, name, arguments):
                print(f"-> {calls.call_line(name, arguments)}{_fate(part, following)}")
            case ToolResultBlock(_, content, is_error):
                if self.show_results:
                    print(f"<-\n{calls.result_text(content, is_error=is_error)}")

    def _prose(self, text: str) -> str:
        clean = for_display(text)
        if wants_style(sys.stdout, no_color=self.no_color):
            clean = styled(clean, width=columns_of(sys.stdout))
        return clean.rstrip("\n")


def _fate(call: ToolUseBlock, following: Part | None) -> str:
    """Return what became of a call, as far as the result behind it says."""
    if not isinstance(following, ToolResultBlock) or following.tool_use_id != call.id:
        return f" {calls.UNANSWERED}"
    fate = calls.fate(following.content, is_error=following.is_error)
    return f" {fate}" if fate else ""
