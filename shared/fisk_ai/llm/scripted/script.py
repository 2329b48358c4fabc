"""What a script may say, and how it is refused when it says something else.

A rehearsal is only worth something when a misspelt key is an error and not a turn that never
plays, so everything is checked when the file is read. Format: ``docs/reference/llm.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from fisk_ai.config import parse_duration
from fisk_ai.errors import ConfigError
from fisk_ai.llm.model import Block, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from fisk_ai.llm.scripted import document
from fisk_ai.llm.scripted.pattern import Pattern, compile_pattern
from fisk_ai.text.gojson import dumps
from fisk_ai.text.sanitise import clean_surrogates

Failure = Literal["rate_limited", "overloaded", "refused", "context_exceeded", "timeout"]


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


_Count = Annotated[int, msgspec.Meta(ge=0)]
_TURN_PATH: Final = re.compile(r" - at `\$\.turns\[(\d+)\]\.?([^`]*)`")


class _Usage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    input: _Count = 0
    output: _Count = 0
    cache_read: _Count = 0
    cache_create: _Count = 0
    thinking: _Count = 0


class _Call(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    tool: Annotated[str, msgspec.Meta(min_length=1)]
    input: dict[str, object] = {}


class _Turn(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    when: str | None = None
    think: str = ""
    say: str = ""
    call: tuple[_Call, ...] = ()
    usage: _Usage | None = None
    delay: str = "0s"
    fail: Failure | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    turns: tuple[_Turn, ...]


def load(path: Path) -> Script:
    """Read a script.

    Raises:
        ConfigError: the file cannot be read, is no YAML, or says something a script cannot say;
            the text names the file, and the line or the turn.
    """
    source = document.read(path)
    try:
        parsed = msgspec.convert(source.data, _File)
    except msgspec.ValidationError as exc:
        raise document.refused(path, _in_words(str(exc), source)) from exc
    turns: list[Turn] = []
    for number, written in enumerate(parsed.turns, start=1):
        try:
            turns.append(_turn(number, written))
        except (ValueError, ConfigError) as exc:
            raise document.refused(path, f"{source.place(number - 1)}: {exc}") from exc
    return Script(path, tuple(turns))


def _in_words(reason: str, source: document.Document) -> str:
    match = _TURN_PATH.search(reason)
    if match is None:
        return reason
    inside = f" at {match[2]}" if match[2] else ""
    return f"{source.place(int(match[1]))}: {reason[: match.start()]}{inside}"


def _turn(number: int, written: _Turn) -> Turn:
    _require_one_meaning(written)
    return Turn(
        number=number,
        content=tuple(_content(number, written)),
        when=None if written.when is None else compile_pattern(written.when),
        usage=_usage(written.usage or _Usage()),
        delay_s=parse_duration(written.delay),
        failure=written.fail,
    )


def _require_one_meaning(written: _Turn) -> None:
    says = bool(written.think or written.say or written.call or written.usage)
    if written.fail is not None and says:
        raise ValueError("fail stands alone: remove it, or think, say, call and usage")
    if written.fail is None and not written.say and not written.call:
        raise ValueError("a turn needs say, call or fail")


def _content(number: int, written: _Turn) -> list[Block]:
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


def _input(call: _Call, position: int) -> bytes:
    try:
        return dumps(call.input)
    except ValueError as exc:
        raise ValueError(f"input of call {position}: {exc}") from exc


def _usage(written: _Usage) -> Usage:
    return Usage(
        input=written.input,
        output=written.output,
        cache_read=written.cache_read,
        cache_create=written.cache_create,
        thinking=written.thinking,
    )
