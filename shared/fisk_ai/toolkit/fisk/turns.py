"""When a program may start: one in each turn of the event loop, so that others run in between.

Starting one holds the whole process until the child has become its program, which takes long while
many compete for the processors. A hundred starts in a row would be one long stall.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """Hands out turns, first come first served; works for one loop after another."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[None]:
        """Enter in a turn of the loop in which nobody else entered.

        A cancellation that is under way arrives before that.
        """
        async with self._of_this_loop():
            await asyncio.sleep(0)
            yield

    def _of_this_loop(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # a lock belongs to the loop in which somebody waited for it
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock


TURNS = Turns()
"""The ones of this process, which is what a start holds up."""
