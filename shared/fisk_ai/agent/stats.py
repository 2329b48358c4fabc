"""Counting: calls and tokens, live and as a journal tells them."""

from __future__ import annotations

from dataclasses import dataclass, field

from fisk_ai.llm.model import Usage
from fisk_ai.sessions.state import Counters
from fisk_ai.toolkit.contract import Kind


@dataclass(slots=True, kw_only=True)
class Stats:
    """What a run did; a resumed run starts from what its session had done, but ``by_kind``."""

    llm_calls: int = 0
    tool_calls: int = 0
    remote_tool_calls: int = 0
    mcp_tool_calls: int = 0
    by_kind: dict[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)


def from_journal(counters: Counters) -> Stats:
    """Start from what a session had done; the map of kinds counts this process only."""
    return Stats(
        llm_calls=counters.llm_calls,
        tool_calls=counters.tool_calls,
        remote_tool_calls=counters.remote_tool_calls,
        mcp_tool_calls=counters.mcp_tool_calls,
        usage=counters.usage,
    )


def count_reply(stats: Stats, usage: Usage) -> None:
    """Count one model call and its tokens."""
    total = stats.usage
    stats.llm_calls += 1
    stats.usage = Usage(
        input=total.input + usage.input,
        output=total.output + usage.output,
        cache_read=total.cache_read + usage.cache_read,
        cache_create=total.cache_create + usage.cache_create,
        thinking=total.thinking + usage.thinking,
    )


def count_call(stats: Stats, kind: Kind) -> None:
    """Count one tool call, whatever becomes of it."""
    stats.tool_calls += 1
    stats.by_kind[kind] = stats.by_kind.get(kind, 0) + 1


def count_dispatch(stats: Stats, kind: Kind) -> None:
    """Count a call that leaves for another program; those counters move at dispatch alone."""
    stats.remote_tool_calls += kind == "remote"
    stats.mcp_tool_calls += kind == "mcp"


def spent(usage: Usage) -> int:
    """Return the tokens that count against a budget; thinking is inside the output."""
    return usage.input + usage.output + usage.cache_read + usage.cache_create
