"""The connections beside the one served on: of sessions, of memories, of peers, of jobs.

Each is opened when it is first asked for. What is kept at the broker that this worker serves at
goes over the connection it serves on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_worker.place import Place, jobs_options, storage_options
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.config import Config

if TYPE_CHECKING:
    from agent_worker.settings import Settings


@dataclass(frozen=True, slots=True)
class Storage:
    """Connections by what they reach; ``serving`` is lent by whoever serves on it."""

    config: Config
    place: Place
    settings: Settings
    serving: tuple[ConnectOptions, Connection]
    opened: dict[ConnectOptions, Connection] = field(
        default_factory=dict[ConnectOptions, Connection]
    )

    async def streams(self, context: str) -> JetStream:
        """Return the streams at ``context``, else at the configuration's own.

        Raises:
            ConfigError, SetupError: the context cannot be used, or its broker not be reached.
        """
        options = self._options(context)
        return JetStream(await self._opened(options), api_prefix=options.api_prefix)

    async def connection(self) -> Connection:
        """Return the connection to the broker of the configuration's context; raises as above."""
        return await self._opened(self._options())

    async def answering(self) -> Connection | None:
        """Return the connection to the broker at which this agent is reached by everybody.

        ``None`` where that is a terminal's own, which nobody else sees. Raises as above.
        """
        if self.place.arguments.hosted and not self.config.nats_context:
            return None
        return await self.connection()

    @property
    def connections(self) -> Mapping[str, Connection]:
        """Every connection, by the place it leads to."""
        options, serving = self.serving
        others = {options.place(): connection for options, connection in self.opened.items()}
        return {**others, options.place(): serving}

    def away(self) -> list[str]:
        """Return the places whose broker is away at this moment."""
        return [place for place, each in self.connections.items() if not each.connected]

    async def fault(self) -> Exception:
        """Wait for the first fault of any of the connections there are now."""
        waits = [asyncio.ensure_future(each.fault()) for each in self.connections.values()]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for waiting in waits:
                waiting.cancel()

    async def queues(self, context: str) -> JetStream:
        """Return the streams at ``context`` over a connection that jobs have for themselves.

        Raises:
            ConfigError, SetupError: as :meth:`streams`.
        """
        options = jobs_options(context, self.config, self.place, self.settings)
        if options not in self.opened:
            self.opened[options] = await connect(options)
        return JetStream(self.opened[options], api_prefix=options.api_prefix)

    async def close(self) -> None:
        """Close what was opened here."""
        await asyncio.gather(*(connection.drain() for connection in self.opened.values()))

    def _options(self, context: str = "") -> ConnectOptions:
        named = context or self.config.nats_context
        return storage_options(named, self.config, self.place, self.settings)

    async def _opened(self, options: ConnectOptions) -> Connection:
        lent, connection = self.serving
        if _same_broker(options, lent):
            return connection
        if options not in self.opened:
            self.opened[options] = await connect(options)
        return self.opened[options]


def _same_broker(one: ConnectOptions, other: ConnectOptions) -> bool:
    return (one.context, one.url, one.user) == (other.context, other.url, other.user)
