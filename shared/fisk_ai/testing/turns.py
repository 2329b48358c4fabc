"""A fleet of workers of one agent that take durable turns in this process, over a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from fisk_ai.a2a.durable import provisioning
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.wishes import ConsumerWish, Wish
from fisk_ai.config import Config
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.records import Payload
from fisk_ai.testing.broker import options, provision
from fisk_ai.testing.gateway import BenchGateway
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.prompts import Intake
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Tool

IDENTITY = "billing"
THREAD = ("T1", "C1", "1712.0001")
LEASE_S = 2.0
"""The lease of a turn on this bench: what is tested is the order of events, not a minute."""


SHORT_WINDOW_NS = 100_000_000
"""How long the queue knows an event again: what proves that a turn was taken is something else."""


def wishes(identity: str = IDENTITY, *, lease_s: float = LEASE_S) -> list[Wish]:
    """Return the streams of sessions and of durable turns."""
    found: list[Wish] = [stream_wish("RUNS", replicas=1)]
    for wish in provisioning.wishes(identity, ["slack"], key="test", replicas=1):
        changes: dict[str, object] = {}
        if wish.name == provisioning.TURNS:
            changes = {"duplicate_window": SHORT_WINDOW_NS}
        elif isinstance(wish, ConsumerWish) and wish.stream == provisioning.TURNS:
            changes = {"ack_wait": int(lease_s * 1e9)}
        found.append(replace(wish, config={**wish.config, **changes}))
    return found


class _Delivered(msgspec.Struct):
    consumer_seq: int = 0


class _Consumer(msgspec.Struct):
    delivered: _Delivered


class StartTurns(Protocol):
    """Starts the channel of a worker: it belongs to a service, which no library imports."""

    def __call__(
        self,
        config: Config,
        connection: Connection,
        streams: Callable[[], Awaitable[JetStream]],
        store: StreamStore,
    ) -> Awaitable[Intake]:
        """Return it started."""
        ...


@dataclass(slots=True)
class Serving:
    """One worker."""

    model: ScriptedProvider
    server: Server
    channel: Intake
    task: asyncio.Task[None]

    async def drain(self) -> None:
        """End it as a first signal does."""
        await self.server.release()
        await asyncio.wait_for(self.task, 10)


@dataclass(slots=True)
class Fleet:
    """Starts workers of one agent."""

    broker: Broker
    js: JetStream
    gateway: BenchGateway
    start: StartTurns
    started: list[Serving] = field(default_factory=list[Serving])
    connections: list[Connection] = field(default_factory=list[Connection])

    async def store(self, js: JetStream | None = None) -> StreamStore:
        """Return the sessions."""
        js = js or self.js
        presence = Presence(js.connection, IDENTITY, again_s=0.05, ask_s=0.5)
        store = StreamStore(js, "RUNS", presence)
        await store.bind()
        return store

    async def serve(
        self,
        model: ScriptedProvider,
        *,
        tools: Sequence[Tool] = (),
        system_prompt: str = "be brief",
        slack: dict[str, object] | None = None,
        harness: Mapping[str, object] | None = None,
    ) -> Serving:
        """Start a worker on a connection of its own."""
        connection = await self._connected()
        js = JetStream(connection)
        store = await self.store(js)
        config = self.config(system_prompt=system_prompt, slack=slack, harness=harness)
        channel = await self._channel(config, js, store)
        resources = Resources(
            config=config,
            provider=model,
            session_store=store,
            custom_tools=list(tools) or [FakeTool(name="ls")],
        )
        server = Server([channel], [], build_runner(resources))
        task = asyncio.create_task(server.serve())
        serving = Serving(model, server, channel, task)
        self.started.append(serving)
        return serving

    async def channel(self) -> Intake:
        """Start the intake of a worker that runs nothing by itself."""
        js = JetStream(await self._connected())
        return await self._channel(self.config(), js, await self.store(js))

    def config(
        self,
        *,
        system_prompt: str = "be brief",
        slack: dict[str, object] | None = None,
        harness: Mapping[str, object] | None = None,
    ) -> Config:
        """Return the configuration of a worker."""
        return Config.model_validate(
            {
                "identity": IDENTITY,
                "system_prompt": system_prompt,
                "llm": {"model": "m"},
                "harness": harness or {},
                "expose": {"agent": {"slack": {"workers": 2, **(slack or {})}}},
            }
        )

    async def kinds(self, turn: Turn) -> list[str]:
        """Return the kinds of the records of a turn's session, oldest first."""
        return [type(payload).__name__ for payload in await self.payloads(turn)]

    async def payloads(self, turn: Turn) -> list[Payload | None]:
        """Return what a turn's session holds, oldest first."""
        store = await self.store()
        return [record.payload for record in await store.records(turn.session)]

    async def queued(self) -> int:
        """Return how many turns are in the queue, taken or not."""
        return (await self.js.stream(provisioning.TURNS)).messages

    async def delivered(self) -> int:
        """Return how often a worker was given a turn so far."""
        return (await self._consumer()).delivered.consumer_seq

    async def one_left(self) -> None:
        """Wait until one turn is left in the queue."""
        async with asyncio.timeout(15):
            while await self.queued() != 1:
                pass

    async def settled(self) -> None:
        """Wait until no turn is left in the queue."""
        async with asyncio.timeout(15):
            while await self.queued():
                pass

    async def close(self) -> None:
        """End every worker."""
        for serving in self.started:
            await serving.server.release()
            await serving.server.cancel_runs()
            await asyncio.wait({serving.task}, timeout=10)
        for connection in self.connections:
            await connection.drain()

    async def _connected(self) -> Connection:
        connection = await connect(options(self.broker, name="worker"))
        self.connections.append(connection)
        return connection

    async def _channel(self, config: Config, js: JetStream, store: StreamStore) -> Intake:
        async def streams() -> JetStream:
            return js

        return await self.start(config, js.connection, streams, store)

    async def _consumer(self) -> _Consumer:
        name = f"{provisioning.TURNS}.{provisioning.consumer_name(IDENTITY, 'slack')}"
        return await self.js.api(f"CONSUMER.INFO.{name}", {}, _Consumer)


async def fleet_at(
    broker: Broker, connection: Connection, start: StartTurns, *, lease_s: float = LEASE_S
) -> Fleet:
    """Return a fleet whose streams are made."""
    js = JetStream(connection)
    await provision(js, *wishes(lease_s=lease_s))
    return Fleet(broker, js, BenchGateway(js, IDENTITY), start)
