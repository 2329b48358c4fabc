"""How long a start may wait for what other processes bring, and who is told meanwhile.

What is absent for a moment in every rollout is waited for: the process is alive and not ready. What
is there and wrong is refused at once. Rules: ``docs/reference/serving.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from agent_worker.place import HOSTED_START_TIMEOUT_S
from agent_worker.readiness import Readiness
from fisk_ai.errors import AbsentError
from fisk_ai.serving.health import HealthServer
from fisk_ai.serving.log import get_logger

if TYPE_CHECKING:
    from agent_worker.settings import Settings

AGAIN_S: Final = 0.2
LONGEST_S: Final = 5.0
"""Between two looks at what is not there: twice as long each time, up to this."""

_log = get_logger("agent_worker")


class Start:
    """The start of one worker, from its first moment."""

    def __init__(self, *, hosted: bool) -> None:
        """Count from now; a ``hosted`` worker waits shortly, because a person is looking."""
        self._hosted = hosted
        self._began = asyncio.get_running_loop().time()
        self._within_s = HOSTED_START_TIMEOUT_S
        self._health: HealthServer | None = None
        self.readiness = Readiness()
        self.health_address = ""

    async def begin(self, settings: Settings) -> None:
        """Heed the settings, and answer at the health address from now on if there is one.

        Raises:
            SetupError: the address cannot be used.
        """
        if not self._hosted:
            self._within_s = settings.start_timeout
        if settings.health_address:
            self._health = HealthServer(self.readiness.reasons)
            self.health_address = await self._health.start(settings.health_address)

    async def until_present(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Repeat ``attempt`` while what it needs is absent and the start has time.

        Raises:
            AbsentError: the time is over; with the words of the attempt, as all that it raises.
        """
        pause, told = AGAIN_S, ""
        while True:
            try:
                await attempt()
            except AbsentError as exc:
                now = asyncio.get_running_loop().time()
                if now + pause > self._began + self._within_s:
                    raise
                if str(exc) != told:
                    told = str(exc)
                    _log.info("waiting", awaited=told)
                    self.readiness.awaits(told)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_S)
            else:
                self.readiness.awaits("")
                return

    def took_s(self) -> float:
        """Return the seconds since it began."""
        return asyncio.get_running_loop().time() - self._began

    async def close(self) -> None:
        """Answer no more; calling it twice is harmless."""
        if self._health is not None:
            await self._health.close()
