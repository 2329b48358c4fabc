"""The calls of a session, each with what became of it and how long it took.

A call's time is what lies between the record that ends it and the one before: tools run one after
another. One that answers later ends, for this, with the record that says so. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fisk_ai.llm.model import ToolUseBlock
from fisk_ai.sessions.records import Assistant, Deferred, Record, ToolResult, User
from fisk_ai.text import clock


@dataclass(slots=True, kw_only=True)
class Call:
    """One call; times are RFC 3339 texts, ``duration_ns`` is ``None`` where they are missing."""

    iteration: int
    use: ToolUseBlock
    time: str
    deferred: Deferred | None = None
    answer: ToolResult | None = None
    answer_time: str = ""
    duration_ns: int | None = None

    @property
    def status(self) -> str:
        """What became of it, for a person."""
        if self.answer is None:
            return "no answer yet"
        return "error" if self.answer.result.is_error else "answered"

    @property
    def dispatched(self) -> bool:
        """Whether it was handed to its tool; one that answers later was."""
        return self.deferred is not None or (self.answer is not None and self.answer.dispatched)

    @property
    def kind(self) -> str:
        """Where its tool came from, empty while nothing says so."""
        if self.answer is None:
            return ""
        return self.answer.kind or ("remote" if self.answer.remote else "unknown")


def calls_of(records: Sequence[Record]) -> list[Call]:
    """Return every call of a session in the order they were asked for."""
    found: list[Call] = []
    turn: dict[str, Call] = {}
    before = ""
    for record in records:
        match record.payload:
            case Assistant() as reply:
                turn = {call.use.id: call for call in _asked(reply, record.time)}
                found.extend(turn.values())
            case User():
                turn = {}
            case Deferred(tool_use_id=use_id) as deferred if use_id in turn:
                call = turn[use_id]
                call.deferred = deferred
                call.duration_ns = _gap(before, record.time)
            case ToolResult(tool_use_id=use_id) as answer if use_id in turn:
                _answer(turn[use_id], answer, record.time, before)
            case _:
                pass
        before = record.time
    return found


def _asked(reply: Assistant, time: str) -> list[Call]:
    uses = (block for block in reply.message.content if isinstance(block, ToolUseBlock))
    return [Call(iteration=reply.iteration, use=use, time=time) for use in uses]


def _answer(call: Call, answer: ToolResult, time: str, before: str) -> None:
    if call.answer is not None:
        return  # the first one counts
    call.answer = answer
    call.answer_time = time
    if call.deferred is None:
        call.duration_ns = _gap(before, time)


def _gap(before: str, after: str) -> int | None:
    """Return the nanoseconds between two records; ``None`` without times or by a clock set back."""
    if not before or not after:
        return None
    gap = clock.rfc3339_ns(after) - clock.rfc3339_ns(before)
    return gap if gap >= 0 else None
