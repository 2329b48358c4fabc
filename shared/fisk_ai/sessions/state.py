"""What a journal folds into: the conversation, the counters, and what is still open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fisk_ai.llm.model import Message, ToolResultBlock, Usage
from fisk_ai.sessions.records import Assistant, CallApproval, Deferred, Meta, Status, Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Work done over the whole session; ``by_kind`` holds every tool call, dispatched or not."""

    llm_calls: int = 0
    tool_calls: int = 0
    remote_tool_calls: int = 0
    mcp_tool_calls: int = 0
    by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """The trailing assistant turn while some of its calls have no result."""

    assistant: Assistant
    results: tuple[ToolResultBlock, ...]
    answered: frozenset[str]
    deferred: Mapping[str, Deferred]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Everything a resume, a listing or a person needs to know of a session.

    ``last_seq`` is the sequence number of the last record folded. ``failed_attempts`` counts the
    runs that ended in ``error`` since the last assistant or user record.
    """

    meta: Meta
    messages: tuple[Message, ...]
    pending: PendingTurn | None
    next_iteration: int
    last_stop_reason: str
    status: Status
    terminal: Terminal | None
    counters: Counters
    open_deferrals: tuple[Deferred, ...]
    standing_grants: tuple[str, ...]
    one_shot_approvals: Mapping[str, CallApproval]
    scope_seed: Mapping[str, int]
    requests: frozenset[str]
    last_seq: int
    failed_attempts: int
