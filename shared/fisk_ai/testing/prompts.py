"""What tests of a served agent share: a bench of workers, requests, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import structs

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, ClientHooks, ClientLimits, Given, TaskEnd
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.llm.model import Response, ToolResultBlock
from fisk_ai.serving.contract import Channel, Concurrent, Releasable
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Tool

GATED = ("ai:confirm",)
"""The tags of a tool whose calls need an approval."""

ASKS = {"human_in_the_loop": {"enabled": True}}
"""The ``harness`` of an agent whose model may ask a person."""


class Intake(Channel, Concurrent, Releasable, Protocol):
    """The channel by which a worker takes prompts."""


class StartIntake(Protocol):
    """Starts the channel of a worker: it belongs to a service, which no library imports."""

    def __call__(
        self, config: Config, connection: Connection, store: FileStore, *, keepalive_s: float
    ) -> Awaitable[Intake]:
        """Return it started."""
        ...


@dataclass(slots=True)
class Serving:
    """One worker that serves in this process: its model, its server, and the task that serves."""

    model: ScriptedProvider
    server: Server
    task: asyncio.Task[None]

    async def ended(self) -> None:
        """Wait until it has ended."""
        await asyncio.wait_for(self.task, 10)


@dataclass(slots=True)
class Bench:
    """Starts workers of the agent ``billing`` on one broker, with one session store."""

    worker: Connection
    caller: Connection
    store: FileStore
    intake: StartIntake
    started: list[Serving] = field(default_factory=list[Serving])

    def config(
        self,
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        **changes: object,
    ) -> Config:
        """Return the configuration of a worker."""
        settings = {"prompts": prompts or {}, "request_timeout": request_timeout}
        written = {
            "identity": "billing",
            "system_prompt": "be brief",
            "llm": {"model": "m"},
            "expose": {"agent": {"a2a": settings}},
            **changes,
        }
        return Config.model_validate(written)

    async def channel(
        self, config: Config, connection: Connection | None = None, *, keepalive_s: float = 15.0
    ) -> Intake:
        """Start the intake alone."""
        connection = connection or self.worker
        return await self.intake(config, connection, self.store, keepalive_s=keepalive_s)

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
        """Start a worker."""
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
        """Return a client of the workers."""
        return AgentClient(self.caller, "billing", "terminal", limits=limits, hooks=hooks)

    async def stop(self) -> None:
        """End every worker."""
        for serving in self.started:
            await serving.server.release()
            await serving.server.cancel_runs()
            await asyncio.wait({serving.task}, timeout=10)


class Hold:
    """The effect of a tool that waits until the test lets it go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, raw: bytes) -> str:
        """Say that the call has begun, and wait."""
        self.begun.set()
        await asyncio.wait_for(self.go.wait(), 10)
        return "held"


def model(*answers: Response | Exception) -> ScriptedProvider:
    """Return a model that gives these answers in turn."""
    return ScriptedProvider(answers)


def header(request: str = "") -> m.HeaderFields:
    """Return the header of a new request to ``billing``, or of a message about ``request``."""
    return m.request_header(m.Sender(name="terminal"), "billing", request=request)


def prompt(text: str = "Hi", *, token: str = "", **more: object) -> m.RequestPrompt:
    """Return a prompt, of the conversation of ``token`` or of a new one."""
    return structs.replace(
        m.RequestPrompt(**header(), prompt=text, conversation_token=token), **more
    )


def answer(token: str, given: m.Answer, **more: object) -> m.RequestAnswer:
    """Return a late answer for the conversation of ``token``."""
    request = m.RequestAnswer(**header(), conversation_token=token, answer=given)
    return structs.replace(request, **more)


def resume(token: str, **more: object) -> m.RequestResume:
    """Return a request to let the conversation of ``token`` go on."""
    return structs.replace(m.RequestResume(**header(), conversation_token=token), **more)


def read(token: str, replay: int = 200) -> m.RequestRead:
    """Return a request for the history of the conversation of ``token``."""
    return m.RequestRead(**header(), conversation_token=token, replay=replay)


def error_of(end: TaskEnd) -> m.ErrorTerminal:
    """Return the error a task ended with."""
    assert isinstance(end.terminal, m.ErrorTerminal), end.terminal
    return end.terminal


def text_of(end: TaskEnd) -> str:
    """Return the answer a task ended with."""
    assert isinstance(end.terminal, m.Result), end.terminal
    return end.terminal.text


def names(blocks: Sequence[m.EventBlock]) -> list[str]:
    """Return the kinds of some events."""
    return [type(block).__name__.removesuffix("BlockEvent") for block in blocks]


def person(given: Given) -> RecordingCaller:
    """Return a caller with a person who answers every question alike."""

    async def answer(question: m.AnyQuestion) -> Given:
        return given

    return RecordingCaller(person=answer)


def absent() -> RecordingCaller:
    """Return a caller whose person never answers."""

    async def wait(question: m.AnyQuestion) -> Given:
        await asyncio.Event().wait()
        return None

    return RecordingCaller(person=wait)


def code_of(end: TaskEnd) -> str:
    """Return the code a task ended with; empty for a result."""
    return end.terminal.code if isinstance(end.terminal, m.ErrorTerminal) else ""


def last_results(model: ScriptedProvider) -> dict[str, str]:
    """Return the results of calls that the model was shown last, by call."""
    content = model.requests[-1].messages[-1].content
    return {
        block.tool_use_id: block.content for block in content if isinstance(block, ToolResultBlock)
    }
