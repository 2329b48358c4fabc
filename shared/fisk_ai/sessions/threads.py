"""File work off the event loop that is never abandoned half way.

A thread cannot be cancelled. Who is cancelled while one writes must wait for it, or it would write
into a session that somebody else has taken since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def settled(work: Callable[[], T], *, undo: Callable[[T], object] | None = None) -> T:
    """Run ``work`` in a thread and wait for its end, cancelled or not.

    ``undo`` is given the result that a cancelled caller can no longer take.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await _ended(future)
        if future.exception() is None and undo is not None:
            undo(future.result())
        raise


async def _ended(future: asyncio.Future[T]) -> None:
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue  # told already; the caller raises it once the thread is done
