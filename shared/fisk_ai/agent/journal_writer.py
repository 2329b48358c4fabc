"""Writing a session while it runs: no counter of our own, no append left half-way.

An append that failed may have landed, so the writer keeps it and settles it before it writes
anything else. A run without a journal writes nowhere, through the same calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from fisk_ai.errors import UnwritableError
from fisk_ai.sessions.records import Payload
from fisk_ai.sessions.store import Journal


class JournalWriter:
    """One run's hand on its journal; owned by the run's task."""

    def __init__(self, journal: Journal | None) -> None:
        """Write to ``journal``; ``None`` is a run that does not journal."""
        self._journal = journal
        self._unsettled: tuple[int, Payload] | None = None

    @property
    def enabled(self) -> bool:
        """Whether anything is written at all."""
        return self._journal is not None

    async def write(self, payload: Payload) -> None:
        """Append one record durably, after whatever an earlier failure left in doubt.

        Raises:
            LockedError: another writer took the session.
            StoreError: the record is not durable.
        """
        if self._journal is None:
            return
        if self._unsettled is not None:
            await self._append(self._journal, *self._unsettled)
        await self._append(self._journal, self._journal.last_seq() + 1, payload)

    async def _append(self, journal: Journal, seq: int, payload: Payload) -> None:
        self._unsettled = (seq, payload)
        await _to_the_end(self._land(journal, seq, payload))

    async def _land(self, journal: Journal, seq: int, payload: Payload) -> None:
        try:
            await journal.append(seq, payload)
        except UnwritableError:
            self._unsettled = None  # it can never land, and must not bar the terminal
            raise
        self._unsettled = None

    def in_doubt(self) -> bool:
        """Say whether the last record may be missing: its writing failed or never ended."""
        return self._unsettled is not None

    async def check_held(self) -> None:
        """Return while this run may still act for its session.

        Raises:
            StoreError: it may not, or nobody can tell.
        """
        if self._journal is not None:
            await self._journal.check_held()

    async def close(self) -> None:
        """Let go of the session."""
        if self._journal is not None:
            await _to_the_end(self._journal.close())


async def _to_the_end(work: Coroutine[object, object, None]) -> None:
    """Await ``work``; a cancellation is passed on only once it has finished.

    Otherwise the next append could overtake one that is still being written.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
        raise
