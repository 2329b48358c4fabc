"""What a run leaves in its session when it is done with it.

The memory's revisions come first and the terminal last, so that the last record says how the run
ended. Neither decides the outcome, and the terminal never depends on the revisions.
"""

from __future__ import annotations

from fisk_ai.agent.active import ActiveRun
from fisk_ai.agent.journal_writer import JournalWriter
from fisk_ai.errors import StoreError
from fisk_ai.memory import scope
from fisk_ai.sessions.records import MemoryRevisions, Terminal


async def record_end(active: ActiveRun, terminal: Terminal) -> None:
    """Write what the run has seen of the memory, then how it ended; a failure is only told."""
    memory = scope.current()
    revisions = memory.snapshot() if memory is not None else {}
    if revisions:
        await _write_revisions(active, MemoryRevisions(revisions=revisions))
    await record_terminal(active, terminal)


async def record_terminal(active: ActiveRun, terminal: Terminal) -> None:
    """Write how the run ended, or left its session; a failure is only told."""
    try:
        await active.journal.write(terminal)
    except StoreError as exc:
        await active.warn("journal_terminal", error=str(exc))


async def close(active: ActiveRun, journal: JournalWriter) -> None:
    """Let go of a session; a failure is only told."""
    try:
        await journal.close()
    except StoreError as exc:
        await active.warn("journal_close", error=str(exc))


async def _write_revisions(active: ActiveRun, revisions: MemoryRevisions) -> None:
    try:
        await active.journal.write(revisions)
    except StoreError as exc:
        await active.warn("journal_memory_revisions", error=str(exc))
