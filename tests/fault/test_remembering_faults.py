"""A run with a memory and a call that is answered later, killed at every point it passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fisk_ai.faults import Point
from fisk_ai.memory.file import FileMemory
from fisk_ai.sessions.records import Deferred, Record, ToolResult
from fisk_ai.testing.mortal import MortalAgent, assert_valid, recorded_results

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


@pytest.fixture
async def agent(tmp_path: Path) -> MortalAgent:
    await FileMemory(tmp_path / "memory").create("plan", "d", "old")
    return MortalAgent(tmp_path, DRIVER, SESSION)


def called(agent: MortalAgent, tool: str) -> int:
    return agent.lines("calls").count(tool.encode())


def is_deferred(records: Sequence[Record]) -> bool:
    return any(isinstance(record.payload, Deferred) for record in records)


async def assert_done(agent: MortalAgent, kept: dict[str, ToolResult]) -> None:
    """The right end, with every result that had been recorded before still as it was."""
    found = recorded_results(await agent.records())
    assert kept.items() <= found.items()
    assert found["b"].result.content == "they said yes"
    assert (await agent.store.load(SESSION)).status == "completed"
    assert (await FileMemory(agent.directory / "memory").read("plan")).content == "new"
    for request in agent.requests():
        assert_valid(request, in_order=False)


async def test_a_run_that_nothing_disturbs_writes_what_it_had_read(agent: MortalAgent) -> None:
    assert agent.finish("begin").reason == "suspended"
    assert agent.finish("answer").text == "fine"
    await assert_done(agent, {})
    assert (called(agent, "phone"), called(agent, "look"), len(agent.requests())) == (1, 1, 3)
    assert sorted(recorded_results(await agent.records())) == ["a", "b", "c", "w4"]


@pytest.mark.parametrize("place", places("begin"))
async def test_a_death_before_the_answer_came_costs_no_recorded_effect(
    agent: MortalAgent, place: str
) -> None:
    agent.kill("begin", at=place)
    records = await agent.records()
    kept = recorded_results(records)
    phoned, looked = called(agent, "phone"), called(agent, "look")
    assert agent.finish("begin").reason == "suspended"
    assert called(agent, "phone") == phoned + (not is_deferred(records))
    assert called(agent, "look") == looked + ("c" not in kept)
    assert agent.finish("answer").text == "fine"
    await assert_done(agent, kept)


@pytest.mark.parametrize("place", places("answer"))
async def test_a_death_behind_the_answer_loses_neither_it_nor_what_was_read(
    agent: MortalAgent, place: str
) -> None:
    assert agent.finish("begin").reason == "suspended"
    agent.kill("answer", at=place)
    kept = recorded_results(await agent.records())
    again = agent.finish("resume" if "b" in kept else "answer")
    status = (await agent.store.load(SESSION)).status
    assert again.text == "fine" or (again.error == "refused" and status == "completed"), again
    await assert_done(agent, kept)
    assert (called(agent, "phone"), called(agent, "look")) == (1, 1)
