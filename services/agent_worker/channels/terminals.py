"""Outcomes and refusals as the terminal of a reply set."""

from __future__ import annotations

from msgspec import UNSET

from fisk_ai.a2a.blocks import usage_counts
from fisk_ai.a2a.codes import Ending, Facts
from fisk_ai.a2a.messages import ErrorTerminal, Result, Terminal, UsageCounts, reply_header
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.agent.options import Stats
from fisk_ai.serving.contract import Outcome


def facts_of(outcome: Outcome, *, follow_up: bool, started: bool) -> Facts:
    """Return what the table of endings needs to know of ``outcome``."""
    return Facts(
        reason=outcome.reason,
        error=outcome.error,
        rejected=outcome.rejected,
        crashed=outcome.crashed,
        abandoned=outcome.abandoned,
        canceled=outcome.canceled,
        started=started,
        follow_up=follow_up,
        taken=outcome.follow_up_taken,
        waiting=tuple(call.tool_use_id for call in outcome.deferred),
    )


def terminal_of(
    reply_set: ReplySet, ending: Ending, *, answer: str = "", stats: Stats | None = None
) -> Terminal:
    """Return the terminal that tells ``ending``."""
    header = reply_header(reply_set.request, reply_set.identity)
    usage = UNSET if stats is None else usage_of(stats)
    if not ending.code:
        return Result(**header, stop_reason=ending.stop_reason, text=answer, usage=usage)
    return ErrorTerminal(
        **header,
        error=ending.text,
        code=ending.code,
        stop_reason=ending.stop_reason,
        usage=usage,
    )


def usage_of(stats: Stats) -> UsageCounts:
    """Return what a run used, as it travels."""
    return usage_counts(stats.usage, llm_calls=stats.llm_calls, tool_calls=stats.tool_calls)
