"""Who is at work on a session in a stream: asked before it is claimed, answered while it is held.

The fence of a stream proves who may record, and the newest claim wins it. Presence keeps a second
process from claiming at all while the first can be reached, so that no healthy run is cut off.
Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal

from fisk_ai.bus.connection import Connection, Inbound, Watch
from fisk_ai.errors import BusTimeoutError, NoRespondersError

ASK_TIMEOUT_S: Final = 2.0
"""A holder answers in a millisecond; one that does not in this time is frozen or cut off."""

AGAIN_S: Final = 3.0
"""Between two questions that nobody heard: longer than a holder takes to connect again."""

Answer = Literal["held", "silent", "nobody"]

Door = Callable[[str, Inbound], Awaitable[None]]
"""Serves what is asked of a session that this process holds, by the session's id."""


async def closed(run_id: str, inbound: Inbound) -> None:
    """Refuse everything: a door that nobody opens."""
    await inbound.refuse("400", "only whether this session is held can be asked here")


class Presence:
    """Asks and answers for the sessions of one agent."""

    def __init__(
        self,
        connection: Connection,
        identity: str,
        *,
        door: Door = closed,
        again_s: float = AGAIN_S,
        ask_s: float = ASK_TIMEOUT_S,
    ) -> None:
        """``door`` serves what operators ask of a held session.

        ``ask_s`` bounds a question, ``again_s`` is the time between two.
        """
        self._door = door
        self._connection = connection
        self._identity = identity
        self._again_s = again_s
        self._ask_s = ask_s

    async def show(self, run_id: str) -> Watch:
        """Answer for a session from now on; the broker knows of it when this returns.

        Raises:
            BusError: the connection is gone.
        """
        serve = partial(self._serve, run_id)
        return await self._connection.watch(self._subject(run_id), serve)

    async def ask(self, run_id: str) -> Answer:
        """Ask whether somebody holds a session; twice, when nobody hears the first question.

        Raises:
            BusError: the connection is gone, so that nothing is known.
        """
        answer = await self.look(run_id)
        if answer != "nobody":
            return answer
        await asyncio.sleep(self._again_s)
        return await self.look(run_id)

    async def look(self, run_id: str) -> Answer:
        """Ask once; for who only looks and takes nothing. Raises as :meth:`ask`."""
        try:
            await self._connection.request(self._subject(run_id), b"", timeout_s=self._ask_s)
        except NoRespondersError:
            return "nobody"
        except BusTimeoutError:
            return "silent"
        return "held"

    def _subject(self, run_id: str) -> str:
        return f"fisk.session.{self._identity}.{run_id}"

    async def _serve(self, run_id: str, inbound: Inbound) -> None:
        if inbound.body:
            await self._door(run_id, inbound)
        elif inbound.reply:
            await inbound.respond(b"")
