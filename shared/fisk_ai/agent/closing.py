"""What a run leaves in its session when it is done with it.

The memory's revisions come first and the terminal last, so that the last record says how the run
ended. Neither decides the outcome, and the terminal never depends on the revisions.
"""

from __future__ import annotations

from collections.abc import Awaitable

from fisk_ai.agent.active import ActiveRun
from fisk_ai.errors import StoreError
from fisk_ai.memory import scope
from fisk_ai.sessions.records import MemoryRevisions, Terminal


async def record_end(active: ActiveRun, terminal: Terminal) -> None:
    """Write what the run has seen of the memory, then how it ended; a failure is only told."""
    memory = scope.current()
    revisions = memory.snapshot() if memory is not None else {}
    if revisions:
        record = MemoryRevisions(revisions=revisions)
        await _tried(active, active.journal.write(record), "journal_memory_revisions")
    await record_terminal(active, terminal)


async def record_terminal(active: ActiveRun, terminal: Terminal) -> None:
    """Write how the run ended, or left its session; a failure is only told."""
    await _tried(active, active.journal.write(terminal), "journal_terminal")


async def close(active: ActiveRun) -> None:
    """Let go of the session; a failure is only told."""
    await _tried(active, active.journal.close(), "journal_close")


async def _tried(active: ActiveRun, step: Awaitable[None], warning: str) -> None:
    try:
        await step
    except StoreError as exc:
        await active.warn(warning, error=str(exc))
