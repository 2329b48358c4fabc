"""What a run counts; a leaf, since options, hooks and the loop all speak of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from fisk_ai.llm.model import Usage


@dataclass(slots=True, kw_only=True)
class Stats:
    """What a run did; a resumed run starts from what its session had done, but ``by_kind``."""

    llm_calls: int = 0
    tool_calls: int = 0
    remote_tool_calls: int = 0
    mcp_tool_calls: int = 0
    by_kind: dict[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
