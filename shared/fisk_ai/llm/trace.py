"""The trace of a model's traffic: one JSON line per event, for whoever has to see what was sent.

Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fisk_ai.llm.model import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """What a run did, for the line that closes it in a trace; ``duration_ms`` is the run's own."""

    session: str
    suspended: bool
    llm_calls: int
    tool_calls: int
    remote_tool_calls: int
    by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0
