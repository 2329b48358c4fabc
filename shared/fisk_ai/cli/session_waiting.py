"""What a stored session waits for, as a person reads it."""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.agent import waiting as stored
from fisk_ai.agent.waiting import QUESTIONS, Kind, Waiting, is_parked, options_of
from fisk_ai.cli.session_reading import Session
from fisk_ai.render.calls import call_line

__all__ = [
    "QUESTIONS",
    "Kind",
    "Waiting",
    "is_parked",
    "options_of",
    "shown",
    "stored_call",
    "waiting",
]


def waiting(session: Session) -> list[Waiting]:
    """Return what a session waits for, in the order the model asked."""
    found = stored.waiting(session.records, session.state, held=bool(session.holder))
    return [shown(item) for item in found]


def shown(item: Waiting) -> Waiting:
    """Return ``item`` with its call in place of the question that it does not have."""
    return replace(item, question=item.question or call_line(item.tool, item.arguments))


def stored_call(item: Waiting, session: Session) -> Waiting:
    """Return a live question with the tool and the time that only its session's journal knows."""
    pending = session.state.pending
    uses = stored.uses_of(pending) if pending is not None else []
    tool = next((use.name for use in uses if use.id == item.tool_use_id), item.tool)
    return replace(item, tool=tool, since=stored.asked_at(session.records))
