"""The closing lines of a run: what it cost, what it did, and how to go on."""

from __future__ import annotations

from dataclasses import dataclass

from fisk_ai.text.sanitise import for_terminal

MODEL_LIMIT = 48
"""Code points of a model's name, which another agent may have made up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counters of a whole conversation; ``input`` includes the cached part."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_create: int = 0
    thinking: int = 0
    llm_calls: int = 0
    tool_calls: int = 0


def usage_line(totals: Totals, bound: int) -> str:
    """Return the tokens used, against ``bound`` when it is known; empty when none were."""
    total = totals.input + totals.output
    if total == 0:
        return ""
    if bound > 0:
        return f"{total} of {bound} tokens ({totals.input} in / {totals.output} out)"
    return f"{totals.input} tokens in / {totals.output} out"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What the client saw of a run; empty and zero fields that cannot be known are left out."""

    session_id: str
    model: str
    totals: Totals
    latency_s: float
    counted: bool = True
    """Whether the agent told what was used; a run that broke off tells nothing."""

    suspended: bool = False
    verbose: bool = False
    trace_id: str = ""
    exported: bool = False

    def line(self) -> str:
        """Return the one-line summary."""
        label = "Run suspended:" if self.suspended else "Run summary:"
        return " ".join([label, *self._fields()])

    def _fields(self) -> list[str]:
        totals = self.totals
        fresh = max(0, totals.input - totals.cache_read - totals.cache_create)
        fields = [
            self.session_id and f"session={self.session_id}",
            self.model and f"model={for_terminal(self.model, MODEL_LIMIT)}",
            f"llm_calls={totals.llm_calls}",
            f"tool_calls={totals.tool_calls}",
            self.counted and f"tokens={fresh}/{totals.output}",
            self.counted and f"thinking={totals.thinking}",
            totals.cache_read and f"cached={totals.cache_read}",
            self.verbose and totals.cache_create and f"cache_write={totals.cache_create}",
            f"latency={self.latency_s:.3f}s",
            self.trace_id and f"trace={for_terminal(self.trace_id, MODEL_LIMIT)}",
            self.exported and "content=exported",
        ]
        return [str(field) for field in fields if field]
