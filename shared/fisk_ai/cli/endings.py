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

CRASHED = "crashed"
INCOMPLETE = "incomplete"
"""Ours, for a reply set that broke off: nobody said how the run ended."""

LEFT = "left"
"""Ours, for a turn that the person at the terminal did not wait for."""

_MESSAGES: Mapping[str, str] = {
    "suspended": "the run stopped where it can be resumed: {detail}",
    "deferred": "the run is waiting on an answer before it can go on: {detail}",
    "capacity": "the agent is already running as much as it will at once; try again shortly",
    "draining": "the agent is going out of service and took no work",
    "conversation_busy": "a turn of this conversation is already running; wait for it to end",
    "turn_not_taken": "the conversation could not take this turn, nothing ran: {detail}",
    "unknown_conversation": (
        "the agent has no conversation by that name; check that the handle is a session id that "
        "'fisk-ai session ls' lists, or the token 'fisk-ai session show' prints, and that it "
        "belongs to this agent"
    ),
    "budget_exhausted": (
        "the conversation has used up its token budget and takes no further turn: {detail}"
    ),
    CRASHED: "the agent crashed, which is a bug; the detail is in its log: {detail}",
    INCOMPLETE: "the agent stopped answering; the work may be incomplete",
    "not_started": "the agent took the turn and never started it; send it again",
    "canceled": "the agent stopped the run: {detail}",
    "rejected": "the agent refused the request: {detail}",
    "config_drift": (
        "the configuration changed since this conversation began; pass --force to go on with the "
        "new one: {detail}"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What to say and whether the command failed; ``error`` is empty when it did not."""

    message: str
    error: str = ""


def ending(code: str, detail: str) -> Ending:
    """Return the words for an ``error`` terminal with ``code``; an unknown one is its detail."""
    shown = for_terminal(detail, DETAIL_LIMIT)
    message = _MESSAGES.get(code, "{detail}").replace("{detail}", shown) or "the run failed"
    if code in PARKED:
        return Ending(message=message)
    return Ending(message=message, error=shown or message)


def may_resume(code: str) -> bool:
    """Say whether going on is worth a hint: not where a resume would only be refused."""
    return code not in ("", "budget_exhausted", "unknown_conversation")
