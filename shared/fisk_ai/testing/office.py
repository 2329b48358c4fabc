"""Workers of one agent in this process, with sessions at a broker, and whoever operates them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.operator_client import OperatorClient
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.messages import Received
from fisk_ai.config import Config
from fisk_ai.serving.barrier import Runner, outcome_of
from fisk_ai.serving.contract import Channel, Outcome, Service, Work
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.sessions.store import Store
from fisk_ai.testing.broker import connected
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.toolkit.contract import Tool

IDENTITY = "billing"


@dataclass(frozen=True, slots=True)
class Started:
    """What a worker answers on: it belongs to a service, which no library imports.

    ``noting`` lets what runs be found by its session.
    """

    channel: Channel
    endpoint: Service
    store: Store
    noting: Callable[[Runner], Runner]


Start = Callable[[Config, Connection], Awaitable[Started]]
"""Starts the endpoints of one worker on its connection."""


@dataclass(slots=True)
class Served:
    """One worker: its model, what runs its work, and the server over it."""

    model: ScriptedProvider
    runner: Runner
    server: Server
    task: asyncio.Task[None]

    async def works(self, work: Work) -> Outcome:
        """Do one piece of work, as the channel of a queue brings it."""
        return await outcome_of(work, self.runner)


@dataclass(slots=True)
class Office:
    """Starts workers of the agent ``billing``, each on a connection of its own; speaks to them."""

    broker: Broker
    caller: Connection
    store: Store
    start: Start
    opened: AsyncExitStack
    served: list[Served] = field(default_factory=list[Served])

    async def serve(
        self,
        model: ScriptedProvider,
        *,
        tools: Sequence[Tool] = (),
        prompts: Mapping[str, object] | None = None,
        harness: Mapping[str, object] | None = None,
    ) -> Served:
        """Start a worker."""
        name = f"worker {len(self.served)}"
        connection = await self.opened.enter_async_context(connected(self.broker, name=name))
        a2a = {"prompts": prompts or {}, "request_timeout": "5s"}
        config = Config.model_validate(
            {
                "identity": IDENTITY,
                "system_prompt": "be brief",
                "llm": {"model": "m"},
                "expose": {"agent": {"a2a": a2a}},
                "harness": harness or {},
            }
        )
        started = await self.start(config, connection)
        resources = Resources(
            config=config, provider=model, session_store=started.store, custom_tools=list(tools)
        )
        runner = started.noting(build_runner(resources))
        server = Server([started.channel], [started.endpoint], runner)
        served = Served(model, runner, server, asyncio.create_task(server.serve()))
        self.served.append(served)
        return served

    def client(self) -> AgentClient:
        """Return the client of a caller."""
        return AgentClient(self.caller, IDENTITY, "terminal")

    def operator(self) -> OperatorClient:
        """Return the client of an operator."""
        return OperatorClient(self.caller, IDENTITY, "ops")

    async def at_door(self, session: str, message: m.AnyMessage | bytes) -> Received:
        """Send a message to whoever holds a session, and return what comes back."""
        return await self._sent(subjects.session(IDENTITY, session), message)

    async def anywhere(self, message: m.AnyMessage | bytes) -> Received:
        """Send a message to any worker, and return what comes back."""
        return await self._sent(subjects.operator(IDENTITY), message)

    async def stop(self) -> None:
        """End every worker."""
        for served in self.served:
            await served.server.release()
            await served.server.cancel_runs()
            await asyncio.wait({served.task}, timeout=10)

    async def _sent(self, subject: str, message: m.AnyMessage | bytes) -> Received:
        body = message if isinstance(message, bytes) else codec.encode(message)
        return await self.caller.request(subject, body, timeout_s=10)
