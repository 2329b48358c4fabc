"""What a stored session waits for, as a person reads it."""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.agent import waiting as stored
from fisk_ai.agent.waiting import QUESTIONS, Kind, Waiting, is_parked, options_of
from fisk_ai.cli.session_reading import Session
from fisk_ai.render.calls import call_line

__all__ = ["QUESTIONS", "Kind", "Waiting", "is_parked", "options_of", "shown", "waiting"]


def waiting(session: Session) -> list[Waiting]:
    """Return what a session waits for, in the order the model asked."""
    found = stored.waiting(session.records, session.state, held=bool(session.holder))
    return [shown(item) for item in found]


def shown(item: Waiting) -> Waiting:
    """Return ``item`` with its call in place of the question that it does not have."""
    return replace(item, question=item.question or call_line(item.tool, item.arguments))
