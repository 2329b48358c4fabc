"""How far a run came, and what is told once of every run that reached its loop.

The trace gets its last line and the ``run_end`` hook its call after the session was let go of, and
after a crash, too. Neither can change how the run ended.
"""

from __future__ import annotations

import time
from dataclasses import replace

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.apart import said
from fisk_ai.agent.hooks import AtRunEnd
from fisk_ai.agent.options import RunOptions, RunResult, Stats
from fisk_ai.llm.trace import TraceSummary
from fisk_ai.sessions.records import Reason
from fisk_ai.toolkit.contract import Advisory


class Progress:
    """What is known of one run so far, for a result that comes early."""

    def __init__(self, options: RunOptions) -> None:
        """Begin to count the run's time."""
        self._options = options
        self._began = time.monotonic()
        self._told = False
        self.active: ActiveRun | None = None
        self.set_up_stats: Stats | None = None

    def failed(self, *, reason: Reason | None = None, crashed: bool = False) -> RunResult:
        """Return the result of a run that ended beside its loop."""
        active = self.active
        return RunResult(
            reason=reason,
            session_id=active.session_id if active is not None else "",
            stats=active.stats if active is not None else self.set_up_stats,
            crashed=crashed,
        )

    async def tell_end(
        self, reason: Reason | None, error: Exception | None, *, crashed: bool = False
    ) -> None:
        """Tell trace and hook how the run ended; only the first call of a run does."""
        active = self.active
        if active is None or self._told:
            return
        self._told = True
        await self._close_trace(active, suspended=reason == "suspended")
        hook = active.hooks.run_end
        if hook is None:
            return
        end = AtRunEnd(
            session_id=active.session_id,
            reason=reason,
            crashed=crashed,
            error=error,
            stats=replace(active.stats, by_kind=dict(active.stats.by_kind)),
        )
        try:
            await hook(end)
        except Exception as exc:  # noqa: BLE001 - the run is over, and its outcome stands
            await active.warn("run_end_hook", error=said(exc))

    async def _close_trace(self, active: ActiveRun, *, suspended: bool) -> None:
        trace, stats = self._options.trace, active.stats
        if trace is None:
            return
        await trace.summary(
            TraceSummary(
                session=active.session_id,
                suspended=suspended,
                llm_calls=stats.llm_calls,
                tool_calls=stats.tool_calls,
                remote_tool_calls=stats.remote_tool_calls,
                by_kind=dict(stats.by_kind),
                usage=stats.usage,
                duration_ms=round((time.monotonic() - self._began) * 1000),
            )
        )
        failure = trace.take_failure()
        if failure:
            await self._options.events.warn(Advisory(kind="trace_write", error=failure))
