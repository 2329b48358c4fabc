"""What keeps this worker from taking work, for whoever asks over HTTP.

It is a state and ends nothing: a broker that is away, a store that does not answer, a drain. Rules:
``docs/reference/serving.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent_worker.endpoints.serving import Endpoints
from agent_worker.resources import Built
from fisk_ai.errors import FiskError
from fisk_ai.serving.contract import Unready

STORES_S: Final = 2.0
"""How long the stores may take to answer."""

FRESH_S: Final = 1.0
"""How long an answer of theirs counts, so that no prober loads them."""


@dataclass(frozen=True, slots=True)
class _Serving:
    built: Built
    endpoints: Endpoints
    draining: Callable[[], bool]


class Readiness:
    """Told how far the start is, and what is served then."""

    def __init__(self) -> None:
        """Begin as a worker that starts."""
        self._awaited = ""
        self._serving: _Serving | None = None
        self._stores: tuple[float, str] = (0.0, "")
        self._asking = asyncio.Lock()

    def awaits(self, what: str) -> None:
        """Note what the start waits for; empty while it goes on."""
        self._awaited = what

    def serves(self, built: Built, endpoints: Endpoints, draining: Callable[[], bool]) -> None:
        """Note that everything is there; from now on it is looked at."""
        self._serving = _Serving(built, endpoints, draining)

    async def reasons(self) -> Sequence[str]:
        """Return what keeps this worker from taking work, nothing while it is ready."""
        if self._serving is None:
            return ["starting", *([self._awaited] if self._awaited else [])]
        if self._serving.draining():
            return ["draining"]
        away = self._serving.built.storage.away()
        if away:
            return [f"the broker is away: {place}" for place in away]
        found = [*_told(self._serving.endpoints), await self._of_stores(self._serving.built)]
        return [reason for reason in found if reason]

    async def _of_stores(self, built: Built) -> str:
        async with self._asking:
            now = asyncio.get_running_loop().time()
            at, reason = self._stores
            if not at or now - at > FRESH_S:
                reason = await _asked(built)
                self._stores = (asyncio.get_running_loop().time(), reason)
            return reason


def _told(endpoints: Endpoints) -> list[str]:
    """Return what endpoints say themselves, each with its name."""
    told = [
        (each.name, each.unready())
        for each in (*endpoints.channels, *endpoints.services)
        if isinstance(each, Unready)
    ]
    return [f"{name}: {reason}" for name, reason in told if reason]


async def _asked(built: Built) -> str:
    """Return why a store cannot be used; binding it again asks for what it is kept in."""
    stores = built.stores
    if stores is None:
        return ""
    try:
        async with asyncio.timeout(STORES_S):
            for bind in stores.binds():
                await bind()
    except TimeoutError:
        return "the stores do not answer"
    except FiskError as exc:
        return str(exc)
    return ""
