"""Noticing a broker that is there and says nothing: stopped, hung, or behind a dead link.

A process that owns its broker knows that nobody else will mend it, so it waits for a bounded time.
Everybody else waits for the broker to come back.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fisk_ai.errors import BusError

if TYPE_CHECKING:
    from fisk_ai.bus.connection import Connection

BEAT_S = 5.0
"""Between two beats, and how long the broker may take to answer one."""

SILENT_BEATS = 3
"""Unanswered beats in a row that make a silence. One may be our own: a process that was stopped and
goes on finds its answer late."""

SILENCE_S = BEAT_S * SILENT_BEATS
"""How long a broker has said nothing when it counts as silent."""


async def wait_silent(
    connection: Connection, *, beat_s: float = BEAT_S, beats: int = SILENT_BEATS
) -> None:
    """Wait until the broker of ``connection`` has answered nothing for ``beats`` beats."""
    missed = 0
    while missed < beats:
        answered, _ = await asyncio.gather(_answers(connection, beat_s), asyncio.sleep(beat_s))
        missed = 0 if answered else missed + 1


async def _answers(connection: Connection, within_s: float) -> bool:
    if not connection.connected:
        return False
    try:
        await connection.flush(within_s)
    except BusError:
        return False
    return True
