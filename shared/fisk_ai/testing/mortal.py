"""An agent on disk whose runs are processes of their own, each of which a fault point may end.

A driver is a program that takes the agent's directory and the words of one step, runs that step and
prints how it ended. It keeps its sessions in ``runs`` and may leave a line in ``requests`` for each
request to the model, and in files of its own for whatever else a test counts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fisk_ai.agent.options import RunOutcome
from fisk_ai.errors import FiskError
from fisk_ai.faults import VARIABLE
from fisk_ai.llm.blocks import message_from_json
from fisk_ai.llm.model import Message, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Record, ToolResult
from fisk_ai.sessions.store import Filter, Store
from fisk_ai.text import gojson


class Ended(msgspec.Struct, forbid_unknown_fields=True):
    """What a driver prints of a run; ``results`` are those its last request showed the model."""

    reason: str
    text: str
    error: str
    crashed: bool = False
    results: list[str] = []


@dataclass(frozen=True, slots=True)
class MortalAgent:
    """One agent, and what its processes left behind.

    Its sessions lie in its directory, unless ``elsewhere`` is where its driver keeps them, which
    ``variables`` tell it.
    """

    directory: Path
    driver: Path
    session: str
    elsewhere: Store | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    def run(self, *step: str, fault: str = "") -> subprocess.CompletedProcess[bytes]:
        """Run one step to its end, whatever that is."""
        environ = {**os.environ, **self.variables, **({VARIABLE: fault} if fault else {})}
        return subprocess.run(
            [sys.executable, str(self.driver), str(self.directory), *step],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def kill(self, *step: str, at: str) -> None:
        """Run one step, which has to die at a fault point."""
        done = self.run(*step, fault=f"{at}=kill")
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()

    def finish(self, *step: str) -> Ended:
        """Run one step with nothing in its way."""
        done = self.run(*step)
        assert done.returncode == 0, done.stderr.decode()
        return ended(done)

    @property
    def store(self) -> Store:
        """Where its sessions are."""
        return self.elsewhere or FileStore(self.directory / "runs")

    async def records(self) -> list[Record]:
        """Return what its session holds; nothing where it has none yet."""
        if not await self.store.list(Filter()):
            return []
        return await self.store.records(self.session)

    def requests(self) -> list[list[Message]]:
        """Return the messages of each request to the model, oldest first."""
        rows = [
            msgspec.json.decode(line, type=list[msgspec.Raw]) for line in self.lines("requests")
        ]
        return [[message_from_json(bytes(message)) for message in row] for row in rows]

    def lines(self, name: str) -> list[bytes]:
        """Return the lines its processes left in a file."""
        file = self.directory / name
        return file.read_bytes().splitlines() if file.exists() else []


def drive(step: Callable[[Path, str], Coroutine[object, object, RunOutcome]]) -> None:
    """Run one step of the driver that this process is, and print how it ended."""
    result, error = asyncio.run(step(Path(sys.argv[1]), sys.argv[2]))
    outcome = {
        "reason": result.reason or "",
        "text": result.text,
        "error": error.code if isinstance(error, FiskError) else str(error or ""),
    }
    sys.stdout.buffer.write(gojson.dumps(outcome))


def ended(done: subprocess.CompletedProcess[bytes]) -> Ended:
    """Return what a driver that came to its end printed."""
    return msgspec.json.decode(done.stdout, type=Ended)


def recorded_results(records: Sequence[Record]) -> dict[str, ToolResult]:
    """Return the result of each call; a second one for a call is a failure of its own."""
    found: dict[str, ToolResult] = {}
    for record in records:
        if isinstance(record.payload, ToolResult):
            assert record.payload.tool_use_id not in found
            found[record.payload.tool_use_id] = record.payload
    return found


def assert_valid(messages: Sequence[Message], *, in_order: bool = True) -> None:
    """One result per call, right behind the reply that asked for it, and roles that alternate.

    Results stand in the order of their calls, but for those of calls that were answered later.
    """
    assert [message.role for message in messages[::2]] == ["user"] * len(messages[::2])
    assert [message.role for message in messages[1::2]] == ["assistant"] * len(messages[1::2])
    for asked, answered in zip(messages[1::2], messages[2::2], strict=True):
        calls = [block.id for block in asked.content if isinstance(block, ToolUseBlock)]
        results = [
            block.tool_use_id for block in answered.content if isinstance(block, ToolResultBlock)
        ]
        assert (results == calls) if in_order else (sorted(results) == sorted(calls))
