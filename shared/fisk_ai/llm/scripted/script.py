"""What a script says: its turns, and how one is refused that could not be played.

A rehearsal is only worth something when a mistake is an error and not a turn that never plays, so
everything is checked when the file is read. Format: ``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fisk_ai.config import parse_duration
from fisk_ai.errors import ConfigError
from fisk_ai.llm.model import Block, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from fisk_ai.llm.scripted import document
from fisk_ai.llm.scripted.pattern import Pattern, compile_pattern
from fisk_ai.llm.scripted.shape import (
    Failure,
    WrittenCall,
    WrittenScript,
    WrittenTurn,
    WrittenUsage,
    parse,
)
from fisk_ai.text.gojson import dumps
from fisk_ai.text.sanitise import clean_surrogates


@dataclass(frozen=True, slots=True)
class Turn:
    """One scripted reply; ``number`` counts from one and names it in errors and call ids."""

    number: int
    content: tuple[Block, ...] = ()
    when: Pattern | None = None
    usage: Usage = field(default_factory=Usage)
    delay_s: float = 0.0
    failure: Failure | None = None

    def matches(self, text: str) -> bool:
        """Say whether the turn's condition is met; never for a turn without one."""
        return self.when is not None and self.when.search(text) is not None

    @property
    def stop_reason(self) -> str:
        """Return what a model would give as its reason to stop."""
        calls = any(isinstance(block, ToolUseBlock) for block in self.content)
        return "tool_use" if calls else "end_turn"


@dataclass(frozen=True, slots=True)
class Script:
    """A whole file; ``path`` is named when it runs out."""

    path: Path
    turns: tuple[Turn, ...]


def load(path: Path) -> Script:
    """Read a script.

    Raises:
        ConfigError: the file cannot be read, is no YAML, or says something a script cannot say;
            the text names the file, and the line or the turn.
    """
    source = document.read(path)
    try:
        written = parse(source)
    except ValueError as exc:
        raise document.refused(path, str(exc)) from exc
    if not written.turns:
        place = source.place(("turns",))
        raise document.refused(path, f"{place}: turns is empty; a script needs a turn to play")
    return Script(path, tuple(_turns(written, source, path)))


def _turns(script: WrittenScript, source: document.Document, path: Path) -> Iterator[Turn]:
    for number, written in enumerate(script.turns, start=1):
        try:
            yield _turn(number, written)
        except (ValueError, ConfigError) as exc:
            place = source.place(("turns", number - 1))
            raise document.refused(path, f"{place}: {exc}") from exc


def _turn(number: int, written: WrittenTurn) -> Turn:
    _require_one_meaning(written)
    return Turn(
        number=number,
        content=tuple(_content(number, written)),
        when=None if written.when is None else compile_pattern(written.when),
        usage=_usage(written.usage or WrittenUsage()),
        delay_s=_delay_s(written),
        failure=written.fail,
    )


def _delay_s(written: WrittenTurn) -> float:
    delay_s = parse_duration(written.delay)
    if delay_s < 0:
        raise ValueError("delay must not be negative")
    return delay_s


def _require_one_meaning(written: WrittenTurn) -> None:
    says = bool(written.think or written.say or written.call or written.usage)
    if written.fail is not None and says:
        raise ValueError("fail stands alone: remove it, or think, say, call and usage")
    if written.fail is None and not written.say and not written.call:
        raise ValueError("a turn needs say, call or fail")


def _content(number: int, written: WrittenTurn) -> list[Block]:
    content: list[Block] = []
    if written.think:
        content.append(ThinkingBlock(clean_surrogates(written.think)))
    if written.say:
        content.append(TextBlock(clean_surrogates(written.say)))
    for position, call in enumerate(written.call, start=1):
        content.append(
            ToolUseBlock(f"scripted_{number}_{position}", call.tool, _input(call, position))
        )
    return content


def _input(call: WrittenCall, position: int) -> bytes:
    try:
        return dumps(call.input)
    except ValueError as exc:
        raise ValueError(f"input of call {position}: {exc}") from exc


def _usage(written: WrittenUsage) -> Usage:
    return Usage(
        input=written.input,
        output=written.output,
        cache_read=written.cache_read,
        cache_create=written.cache_create,
        thinking=written.thinking,
    )
