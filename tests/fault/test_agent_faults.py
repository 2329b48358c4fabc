"""A run of commands, killed or broken at every point it passes, and finished by another process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.faults import Point
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.records import Assistant, Record
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import connected, provision, running_broker
from fisk_ai.testing.mortal import MortalAgent, assert_valid, ended, recorded_results

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


IN_A_STREAM = (
    *("journal.append.written:meta", "journal.append.before:assistant#2"),
    *("journal.append.written:tool_result#2", "journal.append.synced:tool_result#3"),
    *("journal.append.written:terminal", "tool.after:count_two"),
)
"""The kinds of moment around a record and an effect; how records are kept differs, no more."""


def places() -> list[str]:
    """Every place where a run of this script passes a point of the journal or the agent."""
    found: list[str] = []
    for point in Point:
        group = point.value.rpartition(".")[0]
        found += [f"{point.value}{detail}" for detail in DETAILS.get(group, ())]
    return found


@pytest.fixture
def application(tmp_path: Path) -> FakeApplication:
    commands = [FakeCommand(path=path, output=f"{path} done") for path in COMMANDS]
    return FakeApplication(tmp_path / "application", commands)


@pytest.fixture
def agent(tmp_path: Path, application: FakeApplication) -> MortalAgent:
    (tmp_path / "agent.yaml").write_text(
        f"identity: faulty\napplication_path: {application.path}\n"
        "system_prompt: count\nllm: {model: scripted}\n",
        encoding="utf-8",
    )
    (tmp_path / "script.yaml").write_text(SCRIPT, encoding="utf-8")
    return MortalAgent(tmp_path, DRIVER, SESSION)


def starts_of(application: FakeApplication) -> dict[str, int]:
    """How often the command of each call of the session really ran."""
    counted: dict[str, int] = {}
    for call in application.calls():
        counted[call.call_ref] = counted.get(call.call_ref, 0) + 1
    return counted


def replies(records: Sequence[Record]) -> int:
    return sum(isinstance(record.payload, Assistant) for record in records)


@pytest.mark.parametrize("action", ["kill", "raise"])
@pytest.mark.parametrize("place", places())
async def test_a_second_process_finishes_what_the_first_began(
    agent: MortalAgent, application: FakeApplication, place: str, action: str
) -> None:
    await finishes_what_another_began(agent, application, place, action)


@pytest.mark.parametrize("place", IN_A_STREAM)
async def test_a_second_process_finishes_what_the_first_recorded_in_a_stream(
    agent: MortalAgent, application: FakeApplication, tmp_path: Path, place: str
) -> None:
    async with (
        running_broker(tmp_path / "broker", jetstream=True) as broker,
        connected(broker) as looking,
    ):
        js = JetStream(looking)
        await provision(js, stream_wish("RUNS", replicas=1))
        store = StreamStore(js, "RUNS", Presence(looking, "faulty"))
        await store.bind()
        variables = {"FISK_AI_NATS_URL": broker.url_with_credentials}
        away = replace(agent, elsewhere=store, variables=variables)
        await finishes_what_another_began(away, application, place, "kill")


async def finishes_what_another_began(
    agent: MortalAgent, application: FakeApplication, place: str, action: str
) -> None:
    if action == "kill":
        await asyncio.to_thread(agent.kill, at=place)
    else:
        assert ended(agent.run(fault=f"{place}=raise")).crashed
    before = await agent.records()
    asked_before = len(agent.requests())

    end = await asyncio.to_thread(agent.finish)

    after = await agent.records()
    kept = recorded_results(before)
    assert (end.reason, end.text) == ("completed", "counted")
    assert kept.items() <= recorded_results(after).items()
    assert len(recorded_results(after)) == len(COMMANDS)
    starts = starts_of(application)
    assert len(starts) == len(COMMANDS)
    assert all(starts[f"{SESSION}/{call}"] == 1 for call in kept)
    assert sum(starts.values()) <= len(COMMANDS) + 1
    assert len(agent.requests()) - asked_before == MODEL_CALLS - replies(before)
    for request in agent.requests():
        assert_valid(request)


@pytest.mark.parametrize("step", ["before", "written", "synced"])
async def test_a_resume_that_dies_at_its_claim_costs_nothing(
    agent: MortalAgent, application: FakeApplication, step: str
) -> None:
    agent.kill(at="tool.before:count_two")
    agent.kill(at=f"journal.append.{step}:claim")
    assert sum(starts_of(application).values()) == 1
    assert agent.finish().text == "counted"
    assert list(starts_of(application).values()) == [1, 1, 1]


async def test_a_run_that_nothing_disturbs_passes_no_fault_twice(
    agent: MortalAgent, application: FakeApplication
) -> None:
    assert agent.finish().text == "counted"
    assert list(starts_of(application).values()) == [1, 1, 1]
    assert len(agent.requests()) == MODEL_CALLS
