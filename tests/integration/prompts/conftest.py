"""An agent that serves prompts in this process, over a real broker, with a model of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_worker.channels.prompts import PromptsChannel
from fisk_ai.a2a.client import AgentClient, ClientHooks, ClientLimits
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Tool


@dataclass(slots=True)
class Serving:
    """One worker: its model, its server, and the task that serves."""

    model: ScriptedProvider
    server: Server
    task: asyncio.Task[None]

    async def ended(self) -> None:
        await asyncio.wait_for(self.task, 10)


@dataclass(slots=True)
class Bench:
    """Starts workers of the agent ``billing`` on one broker, with one session store."""

    worker: Connection
    caller: Connection
    store: FileStore
    started: list[Serving] = field(default_factory=list[Serving])

    async def channel(
        self,
        config: Config,
        connection: Connection | None = None,
        *,
        keepalive_s: float = 15.0,
    ) -> PromptsChannel:
        connection = connection or self.worker
        service = await connection.service("billing")
        channel = PromptsChannel(
            config, connection, service, self.store, version="1.2", keepalive_s=keepalive_s
        )
        await channel.start()
        return channel

    def config(
        self,
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        **changes: object,
    ) -> Config:
        settings = {"prompts": prompts or {}, "request_timeout": request_timeout}
        written = {
            "identity": "billing",
            "system_prompt": "be brief",
            "llm": {"model": "m"},
            "expose": {"agent": {"a2a": settings}},
            **changes,
        }
        return Config.model_validate(written)

    async def serve(
        self,
        model: ScriptedProvider,
        *,
        tools: Sequence[Tool] | None = None,
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        keepalive_s: float = 15.0,
        connection: Connection | None = None,
        **changes: object,
    ) -> Serving:
        config = self.config(prompts, request_timeout, **changes)
        channel = await self.channel(config, connection, keepalive_s=keepalive_s)
        resources = Resources(
            config=config,
            provider=model,
            session_store=self.store,
            custom_tools=[FakeTool(name="ls")] if tools is None else tools,
        )
        server = Server([channel], [], build_runner(resources))
        serving = Serving(model, server, asyncio.create_task(server.serve()))
        self.started.append(serving)
        return serving

    def client(
        self, limits: ClientLimits | None = None, hooks: ClientHooks | None = None
    ) -> AgentClient:
        return AgentClient(self.caller, "billing", "terminal", limits=limits, hooks=hooks)

    async def stop(self) -> None:
        for serving in self.started:
            await serving.server.release()
            await serving.server.cancel_runs()
            await asyncio.wait({serving.task}, timeout=10)


@pytest.fixture
async def bench(worker: Connection, caller: Connection, tmp_path: Path) -> AsyncIterator[Bench]:
    found = Bench(worker, caller, FileStore(tmp_path / "runs"))
    yield found
    await found.stop()
