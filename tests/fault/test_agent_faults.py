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
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Assistant, Record, ToolResult
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.application import FakeApplication, FakeCommand

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

DRIVER = Path(__file__).parent / "driver.py"
SESSION = "faulty"
COMMANDS = ("count one", "count two", "count three")
MODEL_CALLS = 3

SCRIPT = """\
turns:
  - say: "I count to two."
    call:
      - tool: count_one
      - tool: count_two
    usage: {input: 7, output: 3}
  - call:
      - tool: count_three
    usage: {input: 7, output: 3}
  - say: "counted"
    usage: {input: 7, output: 3}
"""

DETAILS: dict[str, Sequence[str]] = {
    "journal.create": [""],
    "journal.append": [
        *(":meta", ":user", ":assistant", ":assistant#2", ":tool_result"),
        *(":tool_result#2", ":tool_result#3", ":terminal"),
    ],
    "model": ["", "#2", "#3"],
    "tool": [":count_one", ":count_two", ":count_three"],
}


def places() -> list[str]:
    """Every place where a run of this script passes a point of the journal or the agent."""
    found: list[str] = []
    for point in Point:
        group = point.value.rpartition(".")[0]
        found += [f"{point.value}{detail}" for detail in DETAILS.get(group, ())]
    return found


class Ended(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    text: str
    crashed: bool
    error: str


@dataclass(frozen=True)
class Agent:
    """One agent on disk and what its processes left there."""

    directory: Path
    application: FakeApplication

    def run(self, fault: str = "") -> subprocess.CompletedProcess[bytes]:
        environ = {**os.environ, **({VARIABLE: fault} if fault else {})}
        return subprocess.run(
            [sys.executable, str(DRIVER), str(self.directory)],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def finish(self) -> Ended:
        done = self.run()
        assert done.returncode == 0, done.stderr.decode()
        return msgspec.json.decode(done.stdout, type=Ended)

    async def records(self) -> list[Record]:
        store = FileStore(self.directory / "runs")
        if not await store.list(Filter()):
            return []
        return await store.records(SESSION)

    def requests(self) -> list[list[Message]]:
        file = self.directory / "requests"
        lines = file.read_bytes().splitlines() if file.exists() else []
        rows = [msgspec.json.decode(line, type=list[msgspec.Raw]) for line in lines]
        return [[message_from_json(bytes(message)) for message in row] for row in rows]

    def starts(self) -> dict[str, int]:
        """How often the command of each call of the session really ran."""
        counted: dict[str, int] = {}
        for call in self.application.calls():
            counted[call.call_ref] = counted.get(call.call_ref, 0) + 1
        return counted


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    commands = [FakeCommand(path=path, output=f"{path} done") for path in COMMANDS]
    application = FakeApplication(tmp_path / "application", commands)
    (tmp_path / "agent.yaml").write_text(
        f"identity: faulty\napplication_path: {application.path}\n"
        "system_prompt: count\nllm: {model: scripted}\n",
        encoding="utf-8",
    )
    (tmp_path / "script.yaml").write_text(SCRIPT, encoding="utf-8")
    return Agent(tmp_path, application)


def recorded_results(records: Sequence[Record]) -> dict[str, ToolResult]:
    """Return the result of each call; a second one for a call is a failure of its own."""
    found: dict[str, ToolResult] = {}
    for record in records:
        if isinstance(record.payload, ToolResult):
            assert record.payload.tool_use_id not in found
            found[record.payload.tool_use_id] = record.payload
    return found


def replies(records: Sequence[Record]) -> int:
    return sum(isinstance(record.payload, Assistant) for record in records)


def assert_valid(messages: Sequence[Message]) -> None:
    """One result per call, right behind the reply that asked for it, and roles that alternate."""
    assert [message.role for message in messages[::2]] == ["user"] * len(messages[::2])
    assert [message.role for message in messages[1::2]] == ["assistant"] * len(messages[1::2])
    for asked, answered in zip(messages[1::2], messages[2::2], strict=True):
        calls = [block.id for block in asked.content if isinstance(block, ToolUseBlock)]
        results = [
            block.tool_use_id for block in answered.content if isinstance(block, ToolResultBlock)
        ]
        assert results == calls


@pytest.mark.parametrize("action", ["kill", "raise"])
@pytest.mark.parametrize("place", places())
async def test_a_second_process_finishes_what_the_first_began(
    agent: Agent, place: str, action: str
) -> None:
    broken = agent.run(f"{place}={action}")
    if action == "kill":
        assert broken.returncode == -signal.SIGKILL
    else:
        assert msgspec.json.decode(broken.stdout, type=Ended).crashed
    before = await agent.records()
    asked_before = len(agent.requests())

    ended = agent.finish()

    after = await agent.records()
    kept = recorded_results(before)
    assert (ended.reason, ended.text) == ("completed", "counted")
    assert kept.items() <= recorded_results(after).items()
    assert len(recorded_results(after)) == len(COMMANDS)
    starts = agent.starts()
    assert len(starts) == len(COMMANDS)
    assert all(starts[f"{SESSION}/{call}"] == 1 for call in kept)
    assert sum(starts.values()) <= len(COMMANDS) + 1
    assert len(agent.requests()) - asked_before == MODEL_CALLS - replies(before)
    for request in agent.requests():
        assert_valid(request)


@pytest.mark.parametrize("step", ["before", "written", "synced"])
async def test_a_resume_that_dies_at_its_claim_costs_nothing(agent: Agent, step: str) -> None:
    agent.run("tool.before:count_two=kill")
    assert agent.run(f"journal.append.{step}:claim=kill").returncode == -signal.SIGKILL
    assert sum(agent.starts().values()) == 1
    assert agent.finish().text == "counted"
    assert list(agent.starts().values()) == [1, 1, 1]


async def test_a_run_that_nothing_disturbs_passes_no_fault_twice(agent: Agent) -> None:
    assert agent.finish().text == "counted"
    assert list(agent.starts().values()) == [1, 1, 1]
    assert len(agent.requests()) == MODEL_CALLS
