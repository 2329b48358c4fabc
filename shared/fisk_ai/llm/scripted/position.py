"""Where a script stands, as a pure function of the conversation.

A worker that takes over a run knows nothing but its journal, so no position is kept anywhere: the
choices are made again over the assistant turns already there. Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fisk_ai.llm.model import Message, TextBlock, ToolResultBlock
from fisk_ai.llm.scripted.script import Turn


def next_turn(
    turns: Sequence[Turn], messages: Iterable[Message], failed_attempts: int = 0
) -> Turn | None:
    """Return the turn to play now; ``None`` when none is left, or none that is left matches.

    ``failed_attempts`` failing turns at this very position were played before and are passed.
    """
    return _play(list(turns), messages, failed_attempts)


def turns_left(turns: Sequence[Turn], messages: Iterable[Message], failed_attempts: int = 0) -> int:
    """Return how many turns are unused at the same place, the one to play now included."""
    unused = list(turns)
    _play(unused, messages, failed_attempts)
    return len(unused)


def _play(unused: list[Turn], messages: Iterable[Message], failed_attempts: int) -> Turn | None:
    asked = ""
    for message in messages:
        if message.role == "user":
            asked = asked_text(message)
        else:
            _pass_reply(unused, asked)
    return _after_failures(unused, asked, failed_attempts)


def asked_text(message: Message) -> str:
    """Return what conditions are searched in: a user message's texts and tool outputs."""
    parts: list[str] = []
    for block in message.content:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolResultBlock):
            parts.append(block.content)
    return "\n".join(parts)


def newest_text(messages: Sequence[Message]) -> str:
    """Return the text of the newest user message, empty when there is none."""
    for message in reversed(messages):
        if message.role == "user":
            return asked_text(message)
    return ""


def _choose(unused: Sequence[Turn], asked: str) -> Turn | None:
    for turn in unused:
        if turn.matches(asked):
            return turn
    return next((turn for turn in unused if turn.when is None), None)


def _pass_reply(unused: list[Turn], asked: str) -> None:
    """Use up the turn that made a reply, and the failures that came before it."""
    while (turn := _choose(unused, asked)) is not None:
        unused.remove(turn)
        if turn.failure is None:
            return


def _after_failures(unused: list[Turn], asked: str, failed_attempts: int) -> Turn | None:
    turn = _choose(unused, asked)
    while turn is not None and turn.failure is not None and failed_attempts > 0:
        failed_attempts -= 1
        unused.remove(turn)
        turn = _choose(unused, asked)
    return turn
