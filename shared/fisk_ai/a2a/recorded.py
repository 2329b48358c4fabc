"""When a journal recorded what a replay shows, in the order in which a replay meets it.

A folded session holds no times. Its replies, prompts and results stand in the order of their
records, so counting is enough to find the time of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fisk_ai.a2a.header import require_time
from fisk_ai.llm.model import TextBlock
from fisk_ai.sessions.records import Assistant, Meta, Record, ToolResult, User


@dataclass(frozen=True, slots=True)
class Times:
    """Times as RFC 3339 text, empty where the journal has none; each is taken once."""

    replies: Iterator[str] = field(default_factory=lambda: iter(()))
    prompts: Iterator[str] = field(default_factory=lambda: iter(()))
    results: Iterator[str] = field(default_factory=lambda: iter(()))

    def reply(self) -> str:
        """Return when the next reply was recorded."""
        return next(self.replies, "")

    def prompt(self) -> str:
        """Return when the next text of a caller was recorded."""
        return next(self.prompts, "")

    def result(self) -> str:
        """Return when the next result of a call was recorded."""
        return next(self.results, "")


def times_of(records: Sequence[Record]) -> Times:
    """Return the times of a session."""
    replies: list[str] = []
    prompts: list[str] = []
    results: list[str] = []
    for record in records:
        payload, time = record.payload, _valid(record.time)
        if isinstance(payload, Assistant):
            replies.append(time)
        elif isinstance(payload, ToolResult):
            results.append(time)
        elif isinstance(payload, Meta):
            prompts.append(time)
        elif isinstance(payload, User):
            texts = sum(isinstance(block, TextBlock) for block in payload.message.content)
            prompts.extend([time] * texts)
    return Times(iter(replies), iter(prompts), iter(results))


def _valid(time: str) -> str:
    """Return ``time`` if a message may carry it: a journal keeps whatever text it was given."""
    try:
        require_time(time)
    except ValueError:
        return ""
    return time
