"""From records to the state of a run: the only way a session is ever understood.

Pure: it opens nothing and reads no clock, so that every process sees the same session. Rules:
``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fisk_ai.errors import CorruptError, EmptyError, NoMetaError, VersionError
from fisk_ai.llm.model import (
    Block,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    text_of,
)
from fisk_ai.llm.usage import sound_count
from fisk_ai.sessions import doubt
from fisk_ai.sessions.codec import is_known
from fisk_ai.sessions.records import (
    FORMAT_VERSION,
    Assistant,
    CallApproval,
    Claim,
    Decision,
    Deferred,
    MemoryRevisions,
    Meta,
    Payload,
    Record,
    Status,
    Terminal,
    ToolResult,
    User,
    unsupported,
)
from fisk_ai.sessions.state import Counters, PendingTurn, RunState
from fisk_ai.text.sanitise import quoted

_ADVICE = "restore the session or remove it"

in_doubt = doubt.in_doubt


@dataclass(slots=True)
class _Turn:
    assistant: Assistant
    results: list[ToolResultBlock] = field(default_factory=list[ToolResultBlock])
    answered: set[str] = field(default_factory=set[str])
    deferred: dict[str, Deferred] = field(default_factory=dict[str, Deferred])

    def is_complete(self) -> bool:
        return all(call in self.answered for call in calls_of(self.assistant))

    def pending(self) -> PendingTurn:
        return PendingTurn(
            assistant=self.assistant,
            results=tuple(self.results),
            answered=frozenset(self.answered),
            deferred=dict(self.deferred),
        )


@dataclass(slots=True)
class _Tally:
    llm_calls: int = 0
    tool_calls: int = 0
    dispatched: dict[str, int] = field(default_factory=dict[str, int])
    by_kind: dict[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)

    def add_reply(self, reply: Assistant) -> None:
        self.llm_calls += 1
        # Journals hold what a model reported; one that was written unchecked must not lower a sum.
        self.usage = Usage(
            input=self.usage.input + sound_count(reply.in_tokens),
            output=self.usage.output + sound_count(reply.out_tokens),
            cache_read=self.usage.cache_read + sound_count(reply.cache_read_tokens),
            cache_create=self.usage.cache_create + sound_count(reply.cache_create_tokens),
            thinking=self.usage.thinking + sound_count(reply.thinking_tokens),
        )

    def add_call(self, result: ToolResult) -> None:
        # Journals older than ``kind`` mark only calls that really went to another agent.
        kind = result.kind or ("remote" if result.remote else "unknown")
        self.tool_calls += 1
        self.by_kind[kind] = self.by_kind.get(kind, 0) + 1
        if result.dispatched or (not result.kind and result.remote):
            self.dispatched[kind] = self.dispatched.get(kind, 0) + 1

    def counters(self) -> Counters:
        return Counters(
            llm_calls=self.llm_calls,
            tool_calls=self.tool_calls,
            remote_tool_calls=self.dispatched.get("remote", 0),
            mcp_tool_calls=self.dispatched.get("mcp", 0),
            by_kind=dict(self.by_kind),
            usage=self.usage,
        )


def calls_of(assistant: Assistant) -> list[str]:
    """Return the ids of the calls a reply asks for, in their order."""
    content = assistant.message.content
    return [block.id for block in content if isinstance(block, ToolUseBlock)]


class _Fold:
    """The accumulating side of :func:`fold`; one method for each record that changes anything."""

    def __init__(self, meta: Meta) -> None:
        self.meta = meta
        self.seq = 1
        self.messages = [Message("user", (TextBlock(meta.prompt),))]
        self.turn: _Turn | None = None
        self.tally = _Tally()
        self.iteration = -1
        self.stop_reason = ""
        self.status: Status = "open"
        self.terminal: Terminal | None = None
        self.grants: list[str] = []
        self.one_shots: dict[str, CallApproval] = {}
        self.scope: Mapping[str, int] = {}
        self.requests = {meta.request} - {""}
        self.failed_attempts = 0

    def take(self, seq: int, payload: Payload) -> None:
        effect = _EFFECTS.get(type(payload))
        if effect is None:
            raise CorruptError(f"record {seq} opens the session a second time; {_ADVICE}")
        self.seq = seq
        effect(self, payload)
        if not isinstance(payload, Claim | MemoryRevisions | Terminal):
            self.status = "open"

    def commit(self) -> None:
        if self.turn is None:
            return
        self.messages.append(self.turn.assistant.message)
        if self.turn.results:
            self.messages.append(Message("user", tuple(self.turn.results)))
        self.turn = None

    def assistant(self, payload: Assistant) -> None:
        self.commit()
        self.turn = _Turn(payload)
        self.tally.add_reply(payload)
        self.iteration = payload.iteration
        self.stop_reason = payload.stop_reason
        self.failed_attempts = 0

    def tool_result(self, payload: ToolResult) -> None:
        turn = self._turn_of(payload.tool_use_id)
        turn.results.append(payload.result)
        turn.answered.add(payload.tool_use_id)
        self.tally.add_call(payload)

    def deferred(self, payload: Deferred) -> None:
        self._turn_of(payload.tool_use_id).deferred[payload.tool_use_id] = payload

    def user(self, payload: User) -> None:
        self.commit()
        content: tuple[Block, ...] = payload.message.content
        if self.messages[-1].role == "user":
            content = self.messages.pop().content + content
        self.messages.append(Message("user", content))
        self.requests |= {payload.request} - {""}
        self.failed_attempts = 0

    def decision(self, payload: Decision) -> None:
        self.grants.append(payload.tool)

    def call_approval(self, payload: CallApproval) -> None:
        self.one_shots[payload.tool_use_id] = payload

    def end(self, payload: Terminal) -> None:
        self.terminal = payload
        self.status = payload.reason
        self.one_shots.clear()
        self.failed_attempts += payload.reason == "error"

    def claim(self, payload: Claim) -> None:
        """Change nothing: a claim lands inside a batch, and nothing ever releases one."""

    def memory_revisions(self, payload: MemoryRevisions) -> None:
        self.scope = payload.revisions

    def state(self, last_seq: int) -> RunState:
        if self.turn is not None and self.turn.is_complete():
            self.commit()
        pending = self.turn.pending() if self.turn is not None else None
        return RunState(
            meta=self.meta,
            messages=tuple(self.messages),
            pending=pending,
            next_iteration=self.iteration + 1,
            last_stop_reason=self.stop_reason,
            status=self.status,
            terminal=self.terminal,
            counters=self.tally.counters(),
            open_deferrals=_open_deferrals(pending),
            standing_grants=tuple(self.grants),
            one_shot_approvals=dict(self.one_shots),
            scope_seed=dict(self.scope),
            requests=frozenset(self.requests),
            last_seq=last_seq,
            failed_attempts=self.failed_attempts,
        )

    def _turn_of(self, call: str) -> _Turn:
        if self.turn is None:
            raise CorruptError(
                f"record {self.seq} is about call {quoted(call)} and no turn is open; {_ADVICE}"
            )
        return self.turn


_EFFECTS: Mapping[type, Callable[..., None]] = {
    Assistant: _Fold.assistant,
    User: _Fold.user,
    ToolResult: _Fold.tool_result,
    Deferred: _Fold.deferred,
    Decision: _Fold.decision,
    CallApproval: _Fold.call_approval,
    Terminal: _Fold.end,
    Claim: _Fold.claim,
    MemoryRevisions: _Fold.memory_revisions,
}


def fold(records: Sequence[Record]) -> RunState:
    """Return the state that ``records`` amount to.

    Raises:
        EmptyError: there is no record.
        NoMetaError: the first one does not open a session.
        VersionError: the session is of another format version.
        CorruptError: the records contradict one another; names the sequence number.
    """
    if not records:
        raise EmptyError("the session has no record")
    meta = _meta_of(records[0])
    folded = _Fold(meta)
    last = records[0].seq
    for record in records[1:]:
        if record.seq <= last:
            raise CorruptError(f"record {record.seq} stands behind record {last}; {_ADVICE}")
        last = record.seq
        payload = _payload_of(record)
        if payload is not None:
            folded.take(record.seq, payload)
    return folded.state(last)


def answer_of(messages: Sequence[Message]) -> str:
    """Return the prose of the last assistant turn that had any."""
    replies = (text_of(message) for message in reversed(messages) if message.role == "assistant")
    return next((text for text in replies if text), "")


def _meta_of(record: Record) -> Meta:
    if not isinstance(record.payload, Meta):
        raise NoMetaError(f"the first record is {quoted(record.protocol)} and opens no session")
    if record.payload.version != FORMAT_VERSION:
        raise VersionError(unsupported(record.payload.version))
    _refuse_fault(record)
    return record.payload


def _payload_of(record: Record) -> Payload | None:
    if record.payload is not None:
        _refuse_fault(record)
        return record.payload
    if is_known(record.protocol):
        raise CorruptError(f"record {record.seq} ({record.protocol}) has no payload; {_ADVICE}")
    if record.optional:
        return None
    raise CorruptError(f"record {record.seq} has the unknown protocol {quoted(record.protocol)}")


def _refuse_fault(record: Record) -> None:
    if record.fault:
        raise CorruptError(f"record {record.seq} ({record.protocol}): {record.fault}; {_ADVICE}")


def _open_deferrals(pending: PendingTurn | None) -> tuple[Deferred, ...]:
    if pending is None:
        return ()
    waiting = pending.deferred.keys() - pending.answered
    return tuple(pending.deferred[call] for call in sorted(waiting))
