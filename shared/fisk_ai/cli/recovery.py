"""How a run ended when its messages do not say, or its whole answer when they hold a part.

The terminal that hosts an agent shares its session store, and the session is the truth: messages
are lost while the terminal is suspended or its broker hangs, and a long answer is cut to fit one.
"""

from __future__ import annotations

from dataclasses import replace

from fisk_ai.a2a.blocks import TRIM_NOTE, usage_counts
from fisk_ai.cli.endings import INCOMPLETE
from fisk_ai.cli.turn import TurnEnd
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.state import RunState
from fisk_ai.text.sanitise import clean_surrogates

_COMPARED = 1_000
"""Code points of a cut answer that have to begin the stored one; a cut keeps far more."""

_CODES = {"error": "failed", "budget": "budget_exhausted", "max_iterations": "failed"}
"""How a run that its session calls ended is told, as far as it is neither complete nor open."""


def is_wanting(end: TurnEnd) -> bool:
    """Say whether the session may know more than ``end`` does."""
    return end.code == INCOMPLETE or (not end.code and end.text.endswith(TRIM_NOTE))


def recovered(end: TurnEnd, state: RunState) -> TurnEnd:
    """Return ``end`` with what the session says; as it is where the session is open."""
    if end.code == INCOMPLETE:
        return _ended(end, state)
    answer = clean_surrogates(answer_of(state.messages))
    kept = end.text.removesuffix(TRIM_NOTE)
    is_whole = state.status == "completed" and answer.startswith(kept[:_COMPARED])
    return replace(end, text=answer) if is_whole else end


def _ended(end: TurnEnd, state: RunState) -> TurnEnd:
    if state.status == "open":
        return end
    counted = state.counters
    usage = usage_counts(counted.usage, llm_calls=counted.llm_calls, tool_calls=counted.tool_calls)
    if state.status == "completed":
        return TurnEnd(text=clean_surrogates(answer_of(state.messages)), usage=usage)
    detail = state.terminal.message if state.terminal else ""
    if state.status == "suspended":
        code = "deferred" if state.open_deferrals else "suspended"
        return TurnEnd(code=code, detail=detail, usage=usage, unsent=end.unsent)
    return TurnEnd(code=_CODES[state.status], detail=detail, usage=usage)
