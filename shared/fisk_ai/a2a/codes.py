"""How an outcome is told to a caller: the one table from facts to code, reason and words.

Pure over primitives, since a run's own types belong to layers above. Rules:
``docs/reference/a2a.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fisk_ai.errors import (
    AlreadyAnsweredError,
    DriftError,
    FiskError,
    LockedError,
    NotDeferredError,
    NotFoundError,
    ProviderError,
    RefusedError,
    ResultTooLargeError,
)
from fisk_ai.sessions.records import Reason

ErrorCode = Literal[
    "rejected",
    "capacity",
    "draining",
    "duplicate_request",
    "conversation_busy",
    "not_started",
    "crashed",
    "failed",
    "canceled",
    "suspended",
    "deferred",
    "unknown_conversation",
    "turn_not_taken",
    "config_drift",
    "budget_exhausted",
    "provider_busy",
    "provider_refused",
    "context_exceeded",
    "unknown_call",
    "already_answered",
    "answer_too_large",
]
"""Why a task ended in an ``error``; a reader treats any other word as ``failed``."""

STOP_REASONS: dict[Reason, str] = {
    "completed": "end_turn",
    "suspended": "suspended",
    "error": "error",
    "budget": "budget_exhausted",
    "max_iterations": "max_iterations",
}
_PROVIDER_CODES: dict[str, ErrorCode] = {
    "rate_limited": "provider_busy",
    "overloaded": "provider_busy",
    "refused": "provider_refused",
    "context_exceeded": "context_exceeded",
    "timeout": "failed",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a piece of work that ended.

    ``started`` says that the run got past its set-up, and so had taken its session. ``waiting``
    lists the calls it waits for. ``follow_up`` with ``taken`` false means that an older turn kept
    it from the new prompt.
    """

    reason: Reason | None = None
    error: Exception | None = None
    rejected: bool = False
    crashed: bool = False
    abandoned: bool = False
    canceled: bool = False
    started: bool = False
    follow_up: bool = False
    taken: bool = False
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """A terminal to be: an empty ``code`` makes it a result."""

    code: ErrorCode | Literal[""]
    stop_reason: str
    text: str = ""


def disposition(facts: Facts) -> Ending:
    """Return how the outcome ``facts`` is told; the first rule that fits decides."""
    return (
        _before_a_reason(facts)
        or _refused_by_session(facts)
        or _parked(facts)
        or _failed(facts)
        or Ending("", "end_turn")
    )


def _before_a_reason(facts: Facts) -> Ending | None:
    if facts.rejected:
        return _ending("rejected", facts, words_of(facts.error, "the request was refused"))
    if facts.crashed:
        return _ending("crashed", facts, "the run crashed")
    if facts.abandoned:
        return _ending("not_started", facts, "the worker stopped before the run began; send again")
    if facts.reason is None and facts.canceled:
        return Ending("canceled", "canceled", "the worker stopped the run")
    return None


def _refused_by_session(facts: Facts) -> Ending | None:
    error = facts.error
    code: ErrorCode | None = None
    if isinstance(error, NotDeferredError):
        code = "unknown_call"
    elif isinstance(error, AlreadyAnsweredError):
        code = "already_answered"
    elif isinstance(error, ResultTooLargeError):
        code = "answer_too_large"
    elif isinstance(error, NotFoundError) and not facts.started:
        code = "unknown_conversation"
    elif isinstance(error, LockedError) and not facts.started:
        code = "conversation_busy"
    elif _is_refused(error) and not facts.started:
        code = "failed"  # also of a follow-up: sending it again would be refused again
    return _ending(code, facts, str(error)) if code else None


def _parked(facts: Facts) -> Ending | None:
    typed = _typed(facts.error)
    if facts.reason == "budget":
        words = words_of(
            facts.error, "the token budget of this conversation is used up and has to be raised"
        )
        return _ending("budget_exhausted", facts, f"{words}; it takes no further turn until then")
    if facts.follow_up and not facts.taken and not typed:
        return _ending("turn_not_taken", facts, _not_taken(facts))
    if facts.waiting:
        calls = ",".join(facts.waiting)
        return _ending(
            "deferred",
            facts,
            f"the run is waiting on an answer for tool_use {calls}; answer each call to go on",
        )
    if facts.reason == "suspended":
        return _ending("suspended", facts, words_of(facts.error, "the run stopped at a boundary"))
    return None


def _failed(facts: Facts) -> Ending | None:
    typed = _typed(facts.error)
    if typed:
        return _ending(typed, facts, str(facts.error))
    if facts.error is not None:
        words = words_of(facts.error, "the run failed inside the worker")
        return _ending("failed", facts, f"{_lead(facts)}{words}")
    if facts.reason is None:
        return _ending("failed", facts, "the run reported neither an outcome nor an error")
    return None


def _lead(facts: Facts) -> str:
    return "the run reached no outcome: " if facts.reason is None else ""


def _typed(error: Exception | None) -> ErrorCode | None:
    if isinstance(error, DriftError):
        return "config_drift"
    if isinstance(error, ProviderError):
        code = _PROVIDER_CODES[error.failure]
        return code if code != "failed" else None
    return None


def _ending(code: ErrorCode, facts: Facts, text: str) -> Ending:
    return Ending(code, STOP_REASONS[facts.reason] if facts.reason else "error", text)


def _not_taken(facts: Facts) -> str:
    if facts.reason == "suspended" or facts.error is None:
        settled = "earlier work of this conversation came first and the new message was not used"
        return f"{settled}: {words_of(facts.error, 'settle it, then send the message again')}"
    return f"the new message was not used: {words_of(facts.error, 'the run failed before it')}"


def _is_refused(error: Exception | None) -> bool:
    return isinstance(error, RefusedError) and not isinstance(error, DriftError)


def words_of(error: Exception | None, otherwise: str) -> str:
    """Return what may be told of ``error``: ours speak to people, others may hold anything."""
    return str(error) if isinstance(error, FiskError) else otherwise
