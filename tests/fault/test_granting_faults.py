"""Processes that die around the record of an approval that was given for always."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.sessions.records import Decision
from fisk_ai.testing.mortal import MortalAgent, recorded_results

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

DRIVER = Path(__file__).parent / "granting.py"
SESSION = "bench"


@pytest.fixture
def agent(tmp_path: Path) -> MortalAgent:
    return MortalAgent(tmp_path, DRIVER, SESSION)


async def is_granted(agent: MortalAgent) -> bool:
    return any(isinstance(record.payload, Decision) for record in await agent.records())


async def test_a_standing_grant_that_was_not_recorded_is_asked_for_again(
    agent: MortalAgent,
) -> None:
    agent.kill("begin", at="journal.append.before:decision")
    assert agent.lines("asked") == [b"a"]
    assert "a" in recorded_results(await agent.records())
    assert not await is_granted(agent)
    assert agent.finish("resume").text == "done"
    assert agent.lines("asked") == [b"a", b"b"]
    assert agent.lines("calls") == [b"remove"] * 2
    assert not await is_granted(agent)


@pytest.mark.parametrize("step", ["written", "synced"])
async def test_a_standing_grant_that_was_recorded_is_not_asked_for_again(
    agent: MortalAgent, step: str
) -> None:
    agent.kill("begin", at=f"journal.append.{step}:decision")
    assert await is_granted(agent)
    assert agent.finish("resume").text == "done"
    assert agent.lines("asked") == [b"a"]
    assert agent.lines("calls") == [b"remove"] * 2


async def test_a_death_before_the_result_of_an_allowed_call_loses_its_standing_grant(
    agent: MortalAgent,
) -> None:
    agent.kill("begin", at="journal.append.before:tool_result")
    assert not await is_granted(agent)
    assert agent.finish("resume").text == "done"
    assert agent.lines("asked") == [b"a", b"a", b"b"]
