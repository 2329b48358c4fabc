"""What a fleet makes of deaths: of its broker, of a worker, of one that only seemed dead."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.client import AgentClient, Given, TaskEnd
from fisk_ai.a2a.messages import (
    AnyQuestion,
    ErrorTerminal,
    RequestPrompt,
    RequestResume,
    Result,
    Sender,
    request_header,
)
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import AgentUnavailableError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import AGAIN_S, Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.records import ToolResult
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.caller import GaplessCaller, RecordingCaller
from fisk_ai.testing.cluster import Cluster, running_cluster
from fisk_ai.testing.persistence import IMPATIENT
from fisk_ai.testing.session_records import claim
from fisk_ai.testing.workshop import Workshop

pytestmark = [pytest.mark.fault, pytest.mark.timeout(90)]

CONFIG = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{prompts: {{elicit: true}}}}}}}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
"""
Record = Callable[[str, object], None]
SERVE = ("--no-operator",)
WELL = "turns: [{say: Well.}]\n"
THREE = (
    "turns:\n  - call: [{tool: report, input: {}}, {tool: hold, input: {}},"
    " {tool: last, input: {}}]\n  - say: done\n"
)
GENEROUS_S = 20.0
"""Bounds here catch a wait of another kind, such as a whole fetch; the machine may be slow."""


@dataclass(frozen=True)
class Place:
    """One broker that can be killed, a fleet on it, and whoever asks."""

    cluster: Cluster
    caller: Connection
    shop: Workshop
    runs: StreamStore

    @property
    def agent(self) -> AgentClient:
        return AgentClient(self.caller, "watchman", "tester", limits=IMPATIENT)

    def count(self, command: str) -> int:
        return self.shop.application.count(command)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
            FakeCommand(path="last", output="last\n"),
            FakeCommand(path="wipe", output="gone\n", tags=("ai:confirm",)),
        ],
    )
    async with running_cluster(tmp_path / "broker", 1) as cluster:
        caller = await cluster.connect("caller")
        js = JetStream(caller)
        await cluster.provision(js, stream_wish("RUNS", replicas=1))
        runs = StreamStore(js, "RUNS", Presence(caller, "watchman"))
        await runs.bind()
        shop = Workshop(directory, cluster.url, application, state="")
        shop.write("agent.yaml", CONFIG.format(application=application.path))
        yield Place(cluster, caller, shop, runs)
        shop.gate.touch()
        await shop.close()
        await caller.drop()


def prompt(token: str = "") -> RequestPrompt:
    header = request_header(Sender(name="tester"), "watchman")
    return RequestPrompt(**header, prompt="are the nodes well", conversation_token=token)


def resume(token: str) -> RequestResume:
    header = request_header(Sender(name="tester"), "watchman")
    return RequestResume(**header, conversation_token=token)


def text_of(end: TaskEnd) -> str:
    assert isinstance(end.terminal, Result), end.terminal
    return end.terminal.text


def code_of(end: TaskEnd) -> str:
    assert isinstance(end.terminal, ErrorTerminal), end.terminal
    return end.terminal.code


async def holding(place: Place) -> None:
    """Wait until the command runs that waits for its gate."""
    async with asyncio.timeout(GENEROUS_S):
        while not place.count("hold"):  # noqa: ASYNC110 - the program tells nobody
            await asyncio.sleep(0.01)


async def resumed(place: Place, token: str) -> TaskEnd:
    """Resume until a worker took it: the broker may not know of a death yet."""
    while True:
        try:
            return await place.agent.run(resume(token), GaplessCaller())
        except AgentUnavailableError:
            await asyncio.sleep(0.02)


async def answered(place: Place) -> str:
    """Ask until a worker took it: while nobody is connected there is nobody to take it."""
    while True:
        try:
            return text_of(await place.agent.run(prompt(), GaplessCaller()))
        except AgentUnavailableError:
            await asyncio.sleep(0.02)


async def test_the_first_prompt_behind_a_restart_of_the_broker_is_answered_soon(
    place: Place, record_property: Record
) -> None:
    place.shop.write("script.yaml", WELL)
    await place.shop.start(*SERVE)
    assert await answered(place) == "Well."
    (node,) = place.cluster.nodes
    await node.kill()
    await node.start()
    began = time.monotonic()
    async with asyncio.timeout(GENEROUS_S):
        assert await answered(place) == "Well."
    record_property("first_answer_behind_a_restart_s", round(time.monotonic() - began, 3))


async def test_a_run_survives_its_brokers_restart_in_the_middle_of_a_tool(place: Place) -> None:
    place.shop.write("script.yaml", THREE)
    await place.shop.start(*SERVE)
    handlers = RecordingCaller()
    running = asyncio.create_task(place.agent.run(prompt(), handlers))
    await holding(place)
    (node,) = place.cluster.nodes
    await node.kill()
    await node.start()
    place.shop.gate.touch()
    end = await running
    assert text_of(end) == "done"
    assert end.gaps == sum(handlers.gaps)  # what the broker took with it is told
    assert [place.count(each) for each in ("report", "hold", "last")] == [1, 1, 1]


async def test_what_a_killed_worker_had_begun_is_taken_over_within_the_time_a_holder_has(
    place: Place, record_property: Record
) -> None:
    place.shop.write("script.yaml", THREE)
    first = await place.shop.start(*SERVE)
    handlers = GaplessCaller()
    running = asyncio.create_task(place.agent.run(prompt(), handlers))
    await holding(place)
    await place.shop.start(*SERVE)
    first.process.send_signal(signal.SIGKILL)
    began = time.monotonic()
    place.shop.gate.touch()
    session = session_id_for_token("watchman", handlers.token)
    async with asyncio.timeout(AGAIN_S + GENEROUS_S):
        end = await resumed(place, handlers.token)
    record_property("taken_over_and_finished_s", round(time.monotonic() - began, 3))
    assert text_of(end) == "done"
    running.cancel()
    assert place.count("report") == 1
    assert place.count("last") == 1
    state = await place.runs.load(session)
    assert state.status == "completed"
    assert await place.runs.held_by(session) == ""


async def test_a_worker_that_is_told_to_end_parks_what_another_finishes(place: Place) -> None:
    place.shop.write("script.yaml", THREE)
    first = await place.shop.start(*SERVE)
    handlers = GaplessCaller()
    running = asyncio.create_task(place.agent.run(prompt(), handlers))
    await holding(place)
    first.process.send_signal(signal.SIGTERM)
    place.shop.gate.touch()
    assert code_of(await running) == "suspended"
    assert await first.ended() == 0
    await place.shop.start(*SERVE)
    assert text_of(await place.agent.run(resume(handlers.token), GaplessCaller())) == "done"
    assert [place.count(each) for each in ("report", "hold", "last")] == [1, 1, 1]


async def test_a_worker_that_was_frozen_while_its_session_was_taken_starts_no_further_tool(
    place: Place,
) -> None:
    place.shop.write("script.yaml", THREE)
    frozen = await place.shop.start(*SERVE)
    handlers = GaplessCaller()
    running = asyncio.create_task(place.agent.run(prompt(), handlers))
    await holding(place)
    session = session_id_for_token("watchman", handlers.token)
    frozen.process.send_signal(signal.SIGSTOP)
    taken = await place.runs.open(session, take_over=True)
    await taken.append(taken.last_seq() + 1, claim())
    await taken.close()
    place.shop.gate.touch()
    frozen.process.send_signal(signal.SIGCONT)
    assert code_of(await running) in {"failed", "conversation_busy"}
    assert place.count("last") == 0
    await place.shop.start(*SERVE)
    assert text_of(await place.agent.run(resume(handlers.token), GaplessCaller())) == "done"
    assert place.count("last") == 1


async def test_of_many_resumes_at_once_on_two_workers_one_runs(place: Place) -> None:
    place.shop.write("script.yaml", THREE)
    fault = {"FISK_AI_FAULT": "tool.before:hold=kill"}
    killed, handlers = await place.shop.start(*SERVE, environ=fault), GaplessCaller()
    running = asyncio.create_task(place.agent.run(prompt(), handlers))
    assert await killed.ended() < 0
    running.cancel()
    await place.shop.start(*SERVE)
    await place.shop.start(*SERVE)
    place.shop.gate.touch()
    agent = AgentClient(place.caller, "watchman", "tester")
    ends = await asyncio.gather(
        *(agent.run(resume(handlers.token), GaplessCaller()) for _ in range(6))
    )
    assert [text_of(end) for end in ends if isinstance(end.terminal, Result)] == ["done"]
    others = {code_of(end) for end in ends if isinstance(end.terminal, ErrorTerminal)}
    assert others <= {"conversation_busy", "capacity", "failed"}
    assert [place.count(each) for each in ("report", "hold", "last")] == [1, 1, 1]
    records = await place.runs.records(session_id_for_token("watchman", handlers.token))
    results = [r.payload.tool_use_id for r in records if isinstance(r.payload, ToolResult)]
    assert len(results) == len(set(results)) == 3


async def test_a_session_that_is_complete_is_not_run_again_by_any_worker(place: Place) -> None:
    place.shop.write("script.yaml", THREE)
    place.shop.gate.touch()
    await place.shop.start(*SERVE)
    handlers = GaplessCaller()
    assert text_of(await place.agent.run(prompt(), handlers)) == "done"
    await place.shop.start(*SERVE)
    for _ in range(4):
        end = await place.agent.run(resume(handlers.token), GaplessCaller())
        assert code_of(end) == "failed"
        assert isinstance(end.terminal, ErrorTerminal)
        assert "completed" in end.terminal.error
    assert [place.count(each) for each in ("report", "hold", "last")] == [1, 1, 1]


async def test_a_model_that_fails_behind_recorded_results_costs_no_tool_on_another_worker(
    place: Place,
) -> None:
    place.shop.write("script.yaml", THREE)
    place.shop.gate.touch()
    fault = {"FISK_AI_FAULT": "model.before#2=raise"}
    broken, handlers = await place.shop.start(*SERVE, environ=fault), GaplessCaller()
    assert code_of(await place.agent.run(prompt(), handlers)) in {"crashed", "failed"}
    broken.process.send_signal(signal.SIGTERM)
    await broken.ended()
    await place.shop.start(*SERVE)
    assert text_of(await place.agent.run(resume(handlers.token), GaplessCaller())) == "done"
    assert [place.count(each) for each in ("report", "hold", "last")] == [1, 1, 1]


async def test_what_ran_before_a_question_is_not_repeated_where_another_worker_asks_again(
    place: Place,
) -> None:
    place.shop.write(
        "script.yaml",
        "turns:\n  - call: [{tool: report, input: {}}, {tool: wipe, input: {}}]\n  - say: done\n",
    )
    first = await place.shop.start(*SERVE)
    waiting = asyncio.Event()

    async def wait(_: AnyQuestion) -> Given:
        await waiting.wait()
        return None

    async def approve(_: AnyQuestion) -> Given:
        return "once"

    asked = GaplessCaller(person=wait)
    running = asyncio.create_task(place.agent.run(prompt(), asked))
    await asyncio.wait_for(asked.asked.wait(), GENEROUS_S)
    first.process.send_signal(signal.SIGKILL)
    await first.ended()
    running.cancel()
    await place.shop.start(*SERVE)
    again = GaplessCaller(person=approve)
    assert text_of(await place.agent.run(resume(asked.token), again)) == "done"
    assert (place.count("report"), place.count("wipe")) == (1, 1)
    assert len(again.questions) == 1


async def test_a_caller_whose_reply_would_be_the_next_record_of_a_session_is_not_answered(
    place: Place,
) -> None:
    place.shop.write("script.yaml", "turns: [{say: Well.}, {say: Well.}]\n")
    await place.shop.start(*SERVE)
    handlers = GaplessCaller()
    assert text_of(await place.agent.run(prompt(), handlers)) == "Well."
    session = session_id_for_token("watchman", handlers.token)
    before = await place.runs.records(session)
    planted = f"fisk.sessions.RUNS.{session}.{before[-1].seq + 1}"
    await place.caller.publish_request(
        subjects.task("watchman"), codec.encode(prompt(handlers.token)), reply=planted
    )
    assert text_of(await place.agent.run(prompt(handlers.token), GaplessCaller())) == "Well."
    after = await place.runs.records(session)
    assert after[: len(before)] == before
    assert {record.payload.__class__.__name__ for record in after[len(before) :]} <= {
        "User",
        "Claim",
        "Assistant",
        "Terminal",
    }
