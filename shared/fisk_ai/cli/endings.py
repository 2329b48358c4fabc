"""How a turn can end, what is said about it, and whether the command then failed.

One table for every code of the protocol. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fisk_ai.text.sanitise import for_terminal

DETAIL_LIMIT = 400
"""Code points of what an agent says about its own failure."""

PARKED = frozenset({"suspended", "deferred"})
"""Endings that are no failure: the work waits and nothing was lost."""

REFUSED = frozenset(
    {
        "rejected",
        "capacity",
        "draining",
        "duplicate_request",
        "conversation_busy",
        "config_drift",
        "not_started",
        "unknown_conversation",
        "unknown_call",
        "already_answered",
        "answer_too_large",
    }
)
"""Endings before anything ran: there is nothing to sum up and nothing new to resume."""

BUSY = frozenset({"capacity", "conversation_busy"})
"""Endings that pass by themselves: the same request may succeed a moment later."""

_GOES_ON = BUSY | {"", "turn_not_taken", "failed"}
"""Endings after which the same conversation, asked again, may well answer."""

UNTAKEN = REFUSED | {"turn_not_taken"}
"""Endings of a prompt that the conversation knows nothing of."""

NO_ROOM = "context_exceeded"
"""The conversation is too long for its model, and so it stays."""

EXHAUSTED = "budget_exhausted"
"""The conversation has used what it may use in all."""

CRASHED = "crashed"
INCOMPLETE = "incomplete"
"""Ours, for a reply set that broke off: nobody said how the run ended."""

BROKEN_OFF = "broken_off"
"""Ours, for a reply set that broke off while broker and worker were there."""

KILLED = "killed"
"""Ours, for a crash that is no bug: a signal from outside ended the agent's process."""

REMOVED = "removed"
"""Ours, for a conversation that a chat began and that somebody removed since."""

LEFT = "left"
"""Ours, for a turn that the person at the terminal did not wait for."""

_NOTHING_TO_ADD = "the run stopped at a boundary"
"""An agent's words for a run that parked because it was asked to: our own sentence says it."""

_DETAIL = "{detail}"
_SENTENCES: Mapping[str, str] = {
    "suspended": "the run stopped where it can be resumed: {detail}",
    "capacity": "the agent is already running as much as it will at once; try again shortly",
    "draining": "the agent is going out of service and took no work",
    "conversation_busy": (
        "another run holds this conversation; wait for its end, or a few seconds if its terminal "
        "is gone, until it has parked"
    ),
    "unknown_conversation": (
        "the agent has no conversation by that name; check that the handle is a session id that "
        "'fisk-ai session ls' lists, or the token 'fisk-ai session show' prints, and that it "
        "belongs to this agent"
    ),
    REMOVED: "the session of this chat was removed; begin a new one",
    CRASHED: "the agent crashed, which is a bug: {detail}",
    KILLED: "the agent did not finish: {detail}",
    INCOMPLETE: "the agent stopped answering, so the work may be incomplete: {detail}",
    BROKEN_OFF: "nothing more of the run arrived, and it may still be going on: {detail}",
    "not_started": "the agent took the turn and never started it; send it again",
    "rejected": "the agent refused the request: {detail}",
}
"""What is said around the agent's own words, or in their place."""

_SILENT: Mapping[str, str] = {
    "deferred": "the run is waiting on an answer before it can go on",
    "turn_not_taken": "the conversation could not take this turn",
    EXHAUSTED: (
        "the conversation has used up its token budget and takes no further turn until "
        "llm.budget.max_tokens is raised"
    ),
    "canceled": "the agent stopped the run",
    "config_drift": (
        "the configuration changed since this conversation began; pass --force to go on with the "
        "new one"
    ),
}
"""For an agent that says nothing, where its words are a whole sentence that stands alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What to say, and whether the command failed, which makes ``message`` its error."""

    message: str
    failed: bool


def ending(code: str, detail: str) -> Ending:
    """Return the words for an ``error`` terminal with ``code``; an unknown one is its detail."""
    shown = "" if detail == _NOTHING_TO_ADD else for_terminal(detail, DETAIL_LIMIT)
    if shown or code in _SENTENCES:
        sentence = _SENTENCES.get(code, _DETAIL)
        message = sentence.replace(_DETAIL, shown) if shown else sentence.replace(": {detail}", "")
    else:
        message = _SILENT.get(code, "the run failed")
    return Ending(message=message, failed=code not in PARKED)


def ends_chat(code: str) -> bool:
    """Say whether a chat is over, because no further turn of it could do better."""
    return code not in _GOES_ON


def may_resume(code: str) -> bool:
    """Say whether going on is worth a hint: not after an answer, nor where nothing ran."""
    return code != "" and code not in REFUSED
