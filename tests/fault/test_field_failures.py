"""A run with a memory and a call that is answered later, killed at every point it passes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from fisk_ai.faults import VARIABLE, Point
from fisk_ai.llm.blocks import message_from_json
from fisk_ai.llm.model import Message, ToolResultBlock, ToolUseBlock
from fisk_ai.memory.file import FileMemory
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Deferred, Record, ToolResult
from fisk_ai.sessions.store import Filter

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

DRIVER = Path(__file__).parent / "remembering.py"
SESSION = "remembering"
RECORDS = {
    "begin": (
        *("meta", "user", "assistant", "tool_result", "deferred", "tool_result#2"),
        *("memory_revisions", "terminal"),
    ),
    "answer": (
        *("claim", "tool_result", "assistant", "tool_result#2", "assistant#2"),
        *("memory_revisions", "terminal"),
    ),
}
TOOLS = {"begin": ("memory_read", "phone", "look"), "answer": ("memory_write",)}
MODEL_CALLS = {"begin": 1, "answer": 2}


def places(step: str) -> list[str]:
    """Every place that a step passes but for the creation of its file.

    A tool that defers raises, so nothing lies between its call and the record of it.
    """
    details = {
        "journal.append": [f":{record}" for record in RECORDS[step]],
        "tool": [f":{tool}" for tool in TOOLS[step]],
        "model": [f"#{count + 1}" for count in range(MODEL_CALLS[step])],
    }
    return [
        f"{point.value}{detail}"
        for point in Point
        for detail in details.get(point.value.rpartition(".")[0], [])
        if (point, detail) != (Point.TOOL_AFTER, ":phone")
    ]


class Ended(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    text: str
    error: str


@dataclass(frozen=True)
class Agent:
    """One agent on disk, run step by step in processes of its own."""

    directory: Path

    def run(self, step: str, fault: str = "") -> subprocess.CompletedProcess[bytes]:
        environ = {**os.environ, **({VARIABLE: fault} if fault else {})}
        return subprocess.run(
            [sys.executable, str(DRIVER), str(self.directory), step],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def kill(self, step: str, place: str) -> None:
        done = self.run(step, f"{place}=kill")
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()

    def finish(self, step: str) -> Ended:
        done = self.run(step)
        assert done.returncode == 0, done.stderr.decode()
        return msgspec.json.decode(done.stdout, type=Ended)

    @property
    def store(self) -> FileStore:
        return FileStore(self.directory / "runs")

    async def records(self) -> list[Record]:
        if not await self.store.list(Filter()):
            return []
        return await self.store.records(SESSION)

    def called(self, tool: str) -> int:
        return self._lines("calls").count(tool.encode())

    def requests(self) -> list[list[Message]]:
        rows = [
            msgspec.json.decode(each, type=list[msgspec.Raw]) for each in self._lines("requests")
        ]
        return [[message_from_json(bytes(message)) for message in row] for row in rows]

    def _lines(self, name: str) -> list[bytes]:
        file = self.directory / name
        return file.read_bytes().splitlines() if file.exists() else []


@pytest.fixture
async def agent(tmp_path: Path) -> Agent:
    await FileMemory(tmp_path / "memory").create("plan", "d", "old")
    return Agent(tmp_path)


def results(records: Sequence[Record]) -> dict[str, ToolResult]:
    """Return the result of each call; a second one for a call is a failure of its own."""
    found: dict[str, ToolResult] = {}
    for record in records:
        if isinstance(record.payload, ToolResult):
            assert record.payload.tool_use_id not in found
            found[record.payload.tool_use_id] = record.payload
    return found


def is_deferred(records: Sequence[Record]) -> bool:
    return any(isinstance(record.payload, Deferred) for record in records)


def assert_valid(messages: Sequence[Message]) -> None:
    """One result per call, right behind the reply that asked for it, and roles that alternate."""
    assert [message.role for message in messages[::2]] == ["user"] * len(messages[::2])
    assert [message.role for message in messages[1::2]] == ["assistant"] * len(messages[1::2])
    for asked, answered in zip(messages[1::2], messages[2::2], strict=True):
        calls = [block.id for block in asked.content if isinstance(block, ToolUseBlock)]
        answers = [block for block in answered.content if isinstance(block, ToolResultBlock)]
        assert sorted(block.tool_use_id for block in answers) == sorted(calls)


async def assert_done(agent: Agent, kept: dict[str, ToolResult]) -> None:
    """The right end, with every result that had been recorded before still as it was."""
    found = results(await agent.records())
    assert kept.items() <= found.items()
    assert found["b"].result.content == "they said yes"
    assert (await agent.store.load(SESSION)).status == "completed"
    assert (await FileMemory(agent.directory / "memory").read("plan")).content == "new"
    for request in agent.requests():
        assert_valid(request)


async def test_a_run_that_nothing_disturbs_writes_what_it_had_read(agent: Agent) -> None:
    assert agent.finish("begin").reason == "suspended"
    assert agent.finish("answer").text == "fine"
    await assert_done(agent, {})
    assert (agent.called("phone"), agent.called("look"), len(agent.requests())) == (1, 1, 3)
    assert sorted(results(await agent.records())) == ["a", "b", "c", "w4"]


@pytest.mark.parametrize("place", places("begin"))
async def test_a_death_before_the_answer_came_costs_no_recorded_effect(
    agent: Agent, place: str
) -> None:
    agent.kill("begin", place)
    records = await agent.records()
    kept = results(records)
    phoned, looked = agent.called("phone"), agent.called("look")
    assert agent.finish("begin").reason == "suspended"
    assert agent.called("phone") == phoned + (not is_deferred(records))
    assert agent.called("look") == looked + ("c" not in kept)
    assert agent.finish("answer").text == "fine"
    await assert_done(agent, kept)


@pytest.mark.parametrize("place", places("answer"))
async def test_a_death_behind_the_answer_loses_neither_it_nor_what_was_read(
    agent: Agent, place: str
) -> None:
    assert agent.finish("begin").reason == "suspended"
    agent.kill("answer", place)
    kept = results(await agent.records())
    again = agent.finish("resume" if "b" in kept else "answer")
    status = (await agent.store.load(SESSION)).status
    assert again.text == "fine" or (again.error == "refused" and status == "completed"), again
    await assert_done(agent, kept)
    assert (agent.called("phone"), agent.called("look")) == (1, 1)
