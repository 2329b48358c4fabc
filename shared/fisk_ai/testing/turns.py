"""A fleet of workers of one agent that take durable turns in this process, over a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fisk_ai.a2a.durable import provisioning
from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.provisioning import ConsumerWish, Wish
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


def wishes(identity: str = IDENTITY, *, lease_s: float = LEASE_S) -> list[Wish]:
    """Return the streams of sessions and of durable turns."""
    wished = provisioning.Wished(identity=identity, key="expose.agent.slack", replicas=1)
    found: list[Wish] = [stream_wish("RUNS", replicas=1)]
    for wish in provisioning.wishes(wished, ["slack"]):
        if isinstance(wish, ConsumerWish) and wish.stream == provisioning.TURNS:
            config = {**wish.config, "ack_wait": int(lease_s * 1e9)}
            found.append(replace(wish, config=config))
        else:
            found.append(wish)
    return found


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
    connection: Connection
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
        harness: dict[str, object] | None = None,
    ) -> Serving:
        """Start a worker on a connection of its own."""
        connection = await connect(options(self.broker, name="worker"))
        js = JetStream(connection)
        store = await self.store(js)
        config = Config.model_validate(
            {
                "identity": IDENTITY,
                "system_prompt": system_prompt,
                "llm": {"model": "m"},
                "harness": harness or {},
                "expose": {"agent": {"slack": {"workers": 2, **(slack or {})}}},
            }
        )

        async def streams() -> JetStream:
            return js

        channel = await self.start(config, connection, streams, store)
        resources = Resources(
            config=config,
            provider=model,
            session_store=store,
            custom_tools=list(tools) or [FakeTool(name="ls")],
        )
        server = Server([channel], [], build_runner(resources))
        task = asyncio.create_task(server.serve())
        serving = Serving(model, server, channel, connection, task)
        self.started.append(serving)
        return serving

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
            await serving.connection.drain()


async def fleet_at(broker: Broker, connection: Connection, start: StartTurns) -> Fleet:
    """Return a fleet whose streams are made."""
    js = JetStream(connection)
    await provision(js, *wishes())
    return Fleet(broker, js, BenchGateway(js, IDENTITY), start)
