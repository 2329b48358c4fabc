"""Agent workers as real processes: started in a directory, awaited, and stopped by their ids."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from fisk_ai.bus.broker import Broker
from fisk_ai.testing.application import FakeApplication


@dataclass(slots=True)
class Worker:
    """A started worker: its process, what it said and the pipe that is its owner."""

    process: asyncio.subprocess.Process
    said: list[dict[str, object]]
    owner_fd: int
    stderr: bytes = b""

    @property
    def error(self) -> str:
        """What its ready line says went wrong."""
        return str(self.said[0]["error"])

    def disown(self) -> None:
        """Close the pipe that is its owner, as the death of a terminal does."""
        os.close(self.owner_fd)
        self.owner_fd = -1

    async def ended(self) -> int:
        """Return the exit code, with everything it wrote in ``stderr``."""
        _, self.stderr = await asyncio.wait_for(self.process.communicate(), 15)
        assert self.process.returncode is not None
        return self.process.returncode


@dataclass(slots=True)
class Workshop:
    """Starts workers in one directory, where ``agent.yaml`` and ``script.yaml`` lie.

    Their sessions are files below it, unless ``state`` is empty: then where ``agent.yaml`` says.
    """

    directory: Path
    url: str
    application: FakeApplication
    state: str = "state"
    workers: list[Worker] = field(default_factory=list[Worker])

    @property
    def gate(self) -> Path:
        """The file whose presence lets the application's ``hold`` command end."""
        return self.directory / "gate"

    def write(self, name: str, text: str) -> Path:
        """Write a file of the directory and return its path."""
        file = self.directory / name
        file.write_text(text)
        return file

    def mend(self, old: str, new: str) -> None:
        """Replace a part of ``agent.yaml``, which has to be there."""
        text = (self.directory / "agent.yaml").read_text()
        assert old in text
        self.write("agent.yaml", text.replace(old, new, 1))

    def write_context(self, name: str, broker: Broker) -> None:
        """Write a NATS context for whoever types commands here, as :func:`typing_in` does."""
        contexts = self.directory / ".config" / "nats" / "context"
        contexts.mkdir(parents=True, exist_ok=True)
        context = {"url": broker.url, "user": broker.user, "password": broker.password}
        (contexts / f"{name}.json").write_text(json.dumps(context))

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
            *(("--state-dir", self.directory / self.state) if self.state else ()),
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

    async def close(self) -> None:
        """End every worker that still runs."""
        for worker in self.workers:
            if worker.process.returncode is None:
                worker.process.kill()
                await worker.process.communicate()
            if worker.owner_fd >= 0:
                worker.disown()


@dataclass(frozen=True, slots=True)
class Typed:
    """What a command that was typed printed, and its exit code."""

    code: int
    out: str
    err: str


class Types(Protocol):
    """Types ``fisk-ai`` with words and variables of its own."""

    async def __call__(self, *words: str, **environ: str) -> Typed:
        """Return what came of it."""
        ...


def typing_in(directory: Path) -> Types:
    """Return what types commands in ``directory``, which is also the home of whoever types."""

    async def types(*words: str, **environ: str) -> Typed:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "fisk_ai.cli", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=directory,
            env={**os.environ, "HOME": str(directory), **environ},
        )
        out, err = await asyncio.wait_for(process.communicate(), 15)
        return Typed(process.returncode or 0, out.decode(), err.decode())

    return types


def _read_all(descriptor: int) -> list[bytes]:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read().splitlines()
