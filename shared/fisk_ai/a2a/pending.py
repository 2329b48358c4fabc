"""One open question: its windows, and the first answer to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fisk_ai.a2a.messages import AnyAnswer, AnyElicitReply, ElicitWaiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How long questions stay open, in seconds.

    ``window_s`` is what one silence may last and every ``waiting`` restarts it; ``elicit_max_s``
    bounds a question in all, since a waiting run holds its slot.
    """

    window_s: float
    elicit_max_s: float


class Pending:
    """One open question."""

    def __init__(self, windows: Windows) -> None:
        self._loop = asyncio.get_running_loop()
        self._windows = windows
        self._wake = asyncio.Event()
        self._waited = False
        self._over = False
        self._reply: AnyAnswer | None = None

    @property
    def is_open(self) -> bool:
        """Whether an answer would still be taken."""
        return self._reply is None and not self._over

    def take(self, reply: AnyElicitReply) -> bool:
        """Take a reply; ``False`` once one was taken."""
        if not self.is_open:
            return False
        if isinstance(reply, ElicitWaiting):
            self._waited = True
        else:
            self._reply = reply
        self._wake.set()
        return True

    def give_up(self) -> None:
        """Stop waiting."""
        self._over = True
        self._wake.set()

    async def wait(self, draining: Callable[[], bool]) -> AnyAnswer | None:
        """Return the answer, or ``None`` when the windows ran out or the question was given up."""
        started = self._loop.time()
        last = started + self._windows.elicit_max_s
        until = min(started + self._windows.window_s, last)
        while self._reply is None and not self._over:
            try:
                async with asyncio.timeout_at(until):
                    await self._wake.wait()
            except TimeoutError:
                break
            self._wake.clear()
            if self._waited and not draining():
                until = min(self._loop.time() + self._windows.window_s, last)
            self._waited = False
        self._over = True
        return self._reply
