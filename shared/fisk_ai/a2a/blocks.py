"""A run's facts as the blocks of its reply set: cut to size, and fragments gathered.

Text is cut here, before it is sent, because an event that is dropped for its size leaves no gap
that a reader could notice. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from fisk_ai.a2a.messages import (
    EventBlock,
    StatusBlockEvent,
    TextBlockEvent,
    TextDeltaBlockEvent,
    ThinkingBlockEvent,
    ThinkingDeltaBlockEvent,
    ToolCallBlockEvent,
    ToolResultBlockEvent,
    UsageCounts,
    WarningBlockEvent,
)
from fisk_ai.llm.model import Delta, Response, TextBlock, ThinkingBlock, Usage
from fisk_ai.llm.usage import COUNT_MAX
from fisk_ai.text import gojson
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.text.trim import closing_fence, utf8_prefix

_log = logging.getLogger("fisk_ai.a2a")

TEXT_LIMIT = 65_536
"""Bytes kept of one text: a dozen of them still fit one message."""

TRIM_NOTE = "\n[trimmed for the event stream; the full text is in this worker's run journal]"

FLUSH_BYTES = 12_288
"""A sixty-fourth of a message: fragments arrive smoothly without a message for each."""

FLUSH_AGE_S = 0.1
"""Fragments older than this are sent with the next one; faster is not seen by a reader."""

DELTA_BLOCKS = 32
"""Blocks of one reply with a buffer; a model writes a handful."""


def trimmed(text: str) -> tuple[str, bool]:
    """Return ``text`` as it may travel, and whether it was cut."""
    clean = clean_surrogates(text)
    kept = utf8_prefix(clean, TEXT_LIMIT)
    if len(kept) == len(clean):
        return clean, False
    return with_note(kept), True


def with_note(kept: str) -> str:
    """Return the beginning of a longer text with the note, outside any block of code, behind it."""
    return kept + closing_fence(kept) + TRIM_NOTE


def usage_counts(usage: Usage, *, llm_calls: int = 0, tool_calls: int = 0) -> UsageCounts:
    """Return usage as it travels: the input total includes what the cache served."""
    return UsageCounts(
        input_tokens=_count(usage.input + usage.cache_read + usage.cache_create),
        output_tokens=_count(usage.output),
        cache_read_tokens=_count(usage.cache_read),
        cache_create_tokens=_count(usage.cache_create),
        thinking_tokens=_count(usage.thinking),
        llm_calls=llm_calls,
        tool_calls=tool_calls,
    )


def _count(tokens: int) -> int:
    """Return a sum as every reader can hold it."""
    return min(max(tokens, 0), COUNT_MAX)


def blocks_of_response(response: Response, *, terminal: bool) -> list[EventBlock]:
    """Return the prose and reasoning of a reply; its calls are told when they are dispatched.

    ``index`` is the place among all blocks of the reply, so numbers may be missing.
    """
    blocks: list[EventBlock] = []
    for index, block in enumerate(response.content):
        if isinstance(block, TextBlock):
            blocks.append(text_block(block.text, index, final=terminal))
        elif isinstance(block, ThinkingBlock):
            blocks.append(thinking_block(block.text, index))
    return blocks


def text_block(text: str, index: int, *, final: bool) -> TextBlockEvent:
    """Return prose as it travels."""
    kept, cut = trimmed(text)
    return TextBlockEvent(text=kept, final=final, index=index, trimmed=cut)


def thinking_block(text: str, index: int) -> ThinkingBlockEvent:
    """Return reasoning as it travels."""
    kept, cut = trimmed(text)
    return ThinkingBlockEvent(text=kept, index=index, trimmed=cut)


def call_block(call_id: str, name: str, arguments: bytes) -> ToolCallBlockEvent:
    """Return a call as it travels; arguments that are no JSON object stay behind.

    An escape of half a surrogate pair, which no receiver reads, travels as U+FFFD.
    """
    return ToolCallBlockEvent(id=call_id, name=name, input=_object(arguments))


def without_input(block: EventBlock) -> ToolCallBlockEvent | None:
    """Return a call as it travels when its arguments do not; ``None`` if there are none to drop."""
    if not isinstance(block, ToolCallBlockEvent) or block.input is UNSET:
        return None
    return structs.replace(block, input=UNSET)


def result_block(call_id: str, output: str, *, is_error: bool) -> ToolResultBlockEvent:
    """Return a call's result as it travels."""
    return ToolResultBlockEvent(call_id=call_id, output=trimmed(output)[0], is_error=is_error)


def iteration_block(iteration: int, usage: Usage) -> StatusBlockEvent:
    """Return what follows a reply that does not end its turn; ``iteration`` counts from 1."""
    return StatusBlockEvent(iteration=iteration, usage=usage_counts(usage))


def warning_block(
    kind: str, *, name: str = "", count: int = 0, params: Sequence[str] = (), error: str = ""
) -> WarningBlockEvent:
    """Return an advisory as it travels; one without a kind is ``unknown``."""
    return WarningBlockEvent(
        kind=kind or "unknown",
        name=trimmed(name)[0],
        count=max(count, 0),
        params=tuple(clean_surrogates(param) for param in params),
        error=trimmed(error)[0],
    )


def _object(arguments: bytes) -> Raw | UnsetType:
    try:
        text = gojson.mended(arguments)
        msgspec.json.decode(text, type=dict[str, Raw])
    except (msgspec.DecodeError, RecursionError, ValueError):
        return UNSET
    return Raw(text.strip())


@dataclass(slots=True)
class _Buffer:
    since: float
    parts: list[str] = field(default_factory=list[str])
    size_bytes: int = 0


class DeltaBuffer:
    """Gathers the fragments of one model call into events of a useful size."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buffers: dict[tuple[str, int], _Buffer] = {}
        self._overflowed = False

    def reset(self) -> None:
        """Forget every fragment: another model call begins."""
        self._buffers.clear()
        self._overflowed = False

    def add(self, delta: Delta, iteration: int) -> EventBlock | None:
        """Take a fragment and return the event that is due because of it, if any."""
        key = (delta.kind, delta.index)
        now = self._clock()
        buffer = self._buffers.get(key)
        if buffer is None:
            if len(self._buffers) >= DELTA_BLOCKS:
                self._overflow()
                return None
            buffer = self._buffers[key] = _Buffer(now)
        text = clean_surrogates(delta.text)
        if not buffer.parts:
            buffer.since = now
        buffer.parts.append(text)
        buffer.size_bytes += len(text.encode())
        due = buffer.size_bytes >= FLUSH_BYTES or now - buffer.since >= FLUSH_AGE_S
        return self._flush(buffer, delta, iteration) if due or delta.final else None

    def _flush(self, buffer: _Buffer, delta: Delta, iteration: int) -> EventBlock:
        text = "".join(buffer.parts)
        buffer.parts.clear()
        buffer.size_bytes = 0
        shape = TextDeltaBlockEvent if delta.kind == "text" else ThinkingDeltaBlockEvent
        return shape(index=delta.index, iteration=iteration, text=text, final=delta.final)

    def _overflow(self) -> None:
        if not self._overflowed:
            self._overflowed = True
            _log.warning("a reply has over %d blocks; their fragments are dropped", DELTA_BLOCKS)
