"""A real worker process over a real broker, with a scripted model and a fake application."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    Ack,
    AnyQuestion,
    EventBlock,
    RequestPrompt,
    Sender,
    request_header,
)
from fisk_ai.bus.broker import Broker
from fisk_ai.testing.application import FakeApplication, FakeCommand

SCRIPT = """\
turns:
  - call: [{tool: report, input: {}}]
  - say: "All is well."
"""


@dataclass(slots=True)
class Worker:
    """A started worker: its process, what it said and the pipe that is its owner."""

    process: asyncio.subprocess.Process
    said: list[dict[str, object]]
    owner_fd: int
    stderr: bytes = b""

    @property
    def error(self) -> str:
        return str(self.said[0]["error"])

    def disown(self) -> None:
        os.close(self.owner_fd)
        self.owner_fd = -1

    async def ended(self) -> int:
        """Return the exit code, with everything it wrote in ``stderr``."""
        _, self.stderr = await asyncio.wait_for(self.process.communicate(), 15)
        assert self.process.returncode is not None
        return self.process.returncode


@dataclass(slots=True)
class Workshop:
    """Starts workers in one directory, where ``agent.yaml`` and ``script.yaml`` lie."""

    directory: Path
    url: str
    application: FakeApplication
    workers: list[Worker] = field(default_factory=list[Worker])

    @property
    def gate(self) -> Path:
        """The file whose presence lets the application's ``hold`` command end."""
        return self.directory / "gate"

    def write(self, name: str, text: str) -> Path:
        file = self.directory / name
        file.write_text(text)
        return file

    async def start(
        self,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        ready: bool = True,
        program: Sequence[str] = ("-P", "-m", "agent_worker"),
    ) -> Worker:
        """Start a worker and wait for its ready line, or with ``ready=False`` for its end."""
        ready_read, ready_write = os.pipe()
        owner_read, owner_write = os.pipe()
        flags = ["--ready-fd", str(ready_write), "--owner-fd", str(owner_read)] if ready else []
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            "--config",
            self.directory / "agent.yaml",
            "--state-dir",
            self.directory / "state",
            *(arguments or ("--hosted", "--script", str(self.directory / "script.yaml"))),
            *flags,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(ready_write, owner_read),
            cwd=self.directory,
            env={**os.environ, "FISK_AI_NATS_URL": self.url, **(environ or {})},
        )
        os.close(ready_write)
        os.close(owner_read)
        worker = Worker(process, [], owner_write)
        self.workers.append(worker)  # at once: what follows may fail
        lines = await asyncio.wait_for(asyncio.to_thread(_read_all, ready_read), 15)
        worker.said += [cast("dict[str, object]", json.loads(line)) for line in lines]
        return worker


def _read_all(descriptor: int) -> list[bytes]:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read().splitlines()


@pytest.fixture
async def workshop(broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes, none failed\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    shop = Workshop(directory, broker.url_with_credentials, application)
    shop.write(
        "agent.yaml",
        f"identity: watchman\nsystem_prompt: Watch.\napplication_path: {application.path}\n"
        "llm:\n  model: test-model\n",
    )
    shop.write("script.yaml", SCRIPT)
    yield shop
    shop.gate.touch()
    for worker in shop.workers:
        if worker.process.returncode is None:
            worker.process.kill()
            await worker.process.communicate()
        if worker.owner_fd >= 0:
            worker.disown()


@pytest.fixture
def held_script(workshop: Workshop) -> Callable[[], None]:
    """Have the model call the command that waits for the gate, and another behind it."""

    def write() -> None:
        held = "[{tool: hold, input: {}}, "
        workshop.write("script.yaml", SCRIPT.replace("[", held))

    return write


class _Patient:
    """Follows a reply set and answers no question."""

    async def on_ack(self, ack: Ack) -> None:
        return None

    async def on_event(self, block: EventBlock) -> None:
        return None

    async def on_question(self, question: AnyQuestion) -> None:
        return None

    async def on_gap(self, missed: int) -> None:
        raise AssertionError(missed)


@pytest.fixture
def ask() -> Callable[[AgentClient], Awaitable[TaskEnd]]:
    """Send an agent one prompt and wait for its terminal."""

    async def send(agent: AgentClient) -> TaskEnd:
        header = request_header(Sender(name="tester"), "watchman")
        return await agent.run(RequestPrompt(**header, prompt="hello"), _Patient())

    return send
