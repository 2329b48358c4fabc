"""The records of a session and their exact shape; encoding lives in ``codec``.

Attribute order is the order of the keys on disk; which keys are left out when empty, and which a
reader insists on, is said once in ``shapes``. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fisk_ai.llm.model import Message, ToolResultBlock

FORMAT_VERSION = 3
"""Matched exactly: older and newer sessions are both refused."""

ToolKind = Literal["unknown", "application", "builtin", "remote", "custom", "mcp"]
Reason = Literal["completed", "suspended", "error", "budget", "max_iterations"]
Status = Literal["open", "completed", "suspended", "error", "budget", "max_iterations"]


def unsupported(version: int) -> str:
    """Return what is said of a session of another version."""
    return (
        f"snapshot version {version}, supported {FORMAT_VERSION}: read it with the release that"
        " wrote it"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a conversation was started with; decides whether it may continue and keep grants."""

    provider: str
    model: str
    system_hash: str
    tools_hash: str
    thinking_mode: str
    reasoning_effort: str = ""
    max_tokens: int
    max_iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Opens a session. ``created`` keeps the text it was read as; ``prompt`` is the first turn."""

    version: int = FORMAT_VERSION
    run_id: str
    created: str
    fingerprint: Fingerprint
    prompt: str
    interactive: bool = False
    conversation_token: str = ""
    caller: str = ""
    agent: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assistant:
    """A model's reply, written before any of its tools run; ``iteration`` counts from zero."""

    iteration: int
    message: Message
    stop_reason: str = ""
    in_tokens: int
    out_tokens: int
    cache_read_tokens: int = 0
    cache_create_tokens: int = 0
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A follow-up prompt: only the newly typed blocks."""

    message: Message
    request: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer of one call; ``dispatched`` says that its tool was handed it."""

    tool_use_id: str
    result: ToolResultBlock
    remote: bool = False
    kind: ToolKind | Literal[""] = ""
    dispatched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """A call whose answer comes later; never dispatched again."""

    tool_use_id: str
    tool_name: str
    note: str = ""
    handle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A standing grant for a tool's effective name."""

    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApproval:
    """A one-shot approval of one call, bound to the digest of its exact arguments."""

    tool_use_id: str
    tool_name: str
    args_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The run ended or parked; ``summary`` is a foreign cache, kept and never relied on."""

    reason: Reason
    message: str = ""
    summary: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A resume took the run; inert in the fold."""

    by: str
    claimed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevisions:
    """The memory scope at a run's end."""

    revisions: Mapping[str, int] = field(default_factory=dict[str, int])


Payload = (
    Meta
    | Assistant
    | User
    | ToolResult
    | Deferred
    | Decision
    | CallApproval
    | Terminal
    | Claim
    | MemoryRevisions
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of a journal.

    ``payload`` is ``None`` where the line had none under the key its ``protocol`` asks for, or
    where that protocol is none of ours. ``fault`` names a required key the payload lacks. Only
    the fold decides what either means for the session. ``time`` is RFC 3339 text, empty in
    journals older than the field.
    """

    seq: int
    protocol: str
    optional: bool = False
    time: str = ""
    payload: Payload | None
    fault: str = ""
