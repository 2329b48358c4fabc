"""What tests of a served agent share: the bench they are given, requests, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Protocol

from msgspec import structs

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, ClientLimits, Given, TaskEnd
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.llm.model import Response
from fisk_ai.serving.contract import Channel, Concurrent, Releasable
from fisk_ai.serving.server import Server
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.toolkit.contract import Tool

GATED = ("ai:confirm",)
"""The tags of a tool whose calls need an approval."""


class Serving(Protocol):
    """One worker that serves in this process."""

    model: ScriptedProvider
    server: Server

    def ended(self) -> Awaitable[None]:
        """Wait until it has ended."""
        ...


class Intake(Channel, Concurrent, Releasable, Protocol):
    """The channel by which a worker takes prompts."""


class Bench(Protocol):
    """Starts workers of the agent ``billing`` on one broker, with one session store."""

    caller: Connection
    store: FileStore

    def config(
        self,
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        **changes: object,
    ) -> Config:
        """Return the configuration of a worker."""
        ...

    def channel(
        self,
        config: Config,
        connection: Connection | None = None,
        *,
        keepalive_s: float = 15.0,
    ) -> Awaitable[Intake]:
        """Start the intake alone."""
        ...

    def serve(
        self,
        model: ScriptedProvider,
        *,
        tools: Sequence[Tool] = (),
        prompts: dict[str, object] | None = None,
        request_timeout: str = "5s",
        keepalive_s: float = 15.0,
        connection: Connection | None = None,
        **changes: object,
    ) -> Awaitable[Serving]:
        """Start a worker."""
        ...

    def client(self, limits: ClientLimits | None = None) -> AgentClient:
        """Return a client of the workers."""
        ...


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


def header() -> m.HeaderFields:
    """Return the header of a new request to ``billing``."""
    return m.request_header(m.Sender(name="terminal"), "billing")


def prompt(text: str = "Hi", *, token: str = "", **more: object) -> m.RequestPrompt:
    """Return a prompt, of the conversation of ``token`` or of a new one."""
    return structs.replace(
        m.RequestPrompt(**header(), prompt=text, conversation_token=token), **more
    )


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
