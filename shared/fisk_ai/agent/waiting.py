"""What a stored session waits for: deferred answers, calls that a run stopped before or died in.

The journal does not say whether an open call needs a person's word: that depends on the
configuration of the run that goes on. So every open call of a run that parked counts, and the one
that may have begun already, unless a process is at it. Otherwise a run that failed or reached a
bound waits for no decision. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fisk_ai.llm.model import ToolUseBlock
from fisk_ai.sessions.fold import in_doubt
from fisk_ai.sessions.records import Assistant, Claim, Deferred, Record, Terminal, User
from fisk_ai.sessions.state import PendingTurn, RunState
from fisk_ai.text import gojson
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.builtin import hitl
from fisk_ai.toolkit.builtin.hitl import Kind as QuestionKind

Kind = Literal["approve", "confirm", "select", "input", "deferred"]

QUESTIONS: Mapping[str, QuestionKind] = {
    hitl.CONFIRM: "confirm",
    hitl.SELECT: "select",
    hitl.INPUT: "input",
}
"""The tools that ask a person, by what kind of answer they take."""

_ASKED = frozenset(QUESTIONS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One thing that waits; ``is_deferred`` says that it takes an answer, not a decision.

    ``question`` is foreign text, empty of a call that only its arguments describe. ``since`` is an
    RFC 3339 time, empty in old journals. A call that
    is ``in_doubt`` may have run already. An approval from before a doubt does not count. ``parked``
    says that a run stopped at the call; only then it can be refused, since a result behind a
    process that died would put the next call in doubt.
    """

    tool_use_id: str
    kind: Kind
    tool: str
    question: str
    since: str
    arguments: bytes
    is_deferred: bool
    parked: bool = False
    in_doubt: bool = False
    is_approved: bool = False

    @property
    def is_unasked(self) -> bool:
        """Whether it is a question that no run waits for: the next one asks it."""
        return self.kind in _ASKED and not self.is_deferred


def waiting(records: Sequence[Record], state: RunState, *, held: bool = False) -> list[Waiting]:
    """Return what a session waits for, in the order the model asked; ``held`` while it runs."""
    pending = state.pending
    if pending is None:
        return []
    return [*_deferred(records, state, pending), *_open(records, state, pending, held=held)]


def is_parked(records: Sequence[Record]) -> bool:
    """Say whether a run parked and none has gone on: what came since came from outside."""
    for record in reversed(records):
        if isinstance(record.payload, Terminal):
            return record.payload.reason == "suspended"
        if isinstance(record.payload, Assistant | Claim | User):
            return False
    return False


def uses_of(pending: PendingTurn) -> list[ToolUseBlock]:
    """Return the calls of a turn, in the order the model asked."""
    content = pending.assistant.message.content
    return [block for block in content if isinstance(block, ToolUseBlock)]


def asked(arguments: bytes) -> str:
    """Return the text of a question's arguments."""
    return str(member_of(arguments, "question") or "")


def options_of(item: Waiting) -> list[str]:
    """Return the options a question offers, as they are to be typed."""
    options = member_of(item.arguments, "options")
    if not isinstance(options, list):
        return []
    texts: list[object] = options  # pyright: ignore[reportUnknownVariableType] - JSON data
    return [for_terminal(str(text), hitl.TEXT_LIMIT) for text in texts]


def member_of(arguments: bytes, key: str) -> object:
    """Return one member of a call's arguments; ``None`` when they hold none."""
    try:
        decoded = gojson.loads(arguments)
    except ValueError:
        return None
    if not isinstance(decoded, dict):
        return None
    members: dict[str, object] = decoded  # pyright: ignore[reportUnknownVariableType] - a JSON object's keys are text
    return members.get(key)


def _deferred(
    records: Sequence[Record], state: RunState, pending: PendingTurn
) -> Iterator[Waiting]:
    times = {
        record.payload.tool_use_id: record.time
        for record in records
        if isinstance(record.payload, Deferred)
    }
    uses = {use.id: use for use in uses_of(pending)}
    for deferral in state.open_deferrals:
        use = uses.get(deferral.tool_use_id)
        arguments = use.input if use is not None else b"{}"
        kind = QUESTIONS.get(deferral.tool_name)
        yield Waiting(
            tool_use_id=deferral.tool_use_id,
            kind=kind or "deferred",
            tool=deferral.tool_name,
            question=(asked(arguments) if kind else "") or deferral.note or deferral.handle,
            since=times.get(deferral.tool_use_id, ""),
            arguments=arguments,
            is_deferred=True,
        )


def _open(
    records: Sequence[Record], state: RunState, pending: PendingTurn, *, held: bool
) -> Iterator[Waiting]:
    parked = is_parked(records)
    doubtful = None if held else in_doubt(records)
    since = asked_at(records)
    for use in uses_of(pending):
        if use.id in pending.answered or use.id in pending.deferred:
            continue
        if not parked and use.id != doubtful:
            continue
        kind = QUESTIONS.get(use.name)
        yield Waiting(
            tool_use_id=use.id,
            kind=kind or "approve",
            tool=use.name,
            question=asked(use.input) if kind else "",
            since=since,
            arguments=use.input,
            is_deferred=False,
            parked=parked,
            in_doubt=use.id == doubtful,
            is_approved=use.id != doubtful and use.id in state.one_shot_approvals,
        )


def asked_at(records: Sequence[Record]) -> str:
    """Return when the open batch was asked for; empty in old journals."""
    times = (record.time for record in reversed(records) if isinstance(record.payload, Assistant))
    return next(times, "")
