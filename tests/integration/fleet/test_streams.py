"""What one worker began another one goes on with, from the stream that both keep sessions in."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    ErrorTerminal,
    RequestPrompt,
    RequestResume,
    Result,
    Sender,
    request_header,
)
from fisk_ai.bus.bucket import Bucket
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import PeerError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.records import Claim, ToolResult
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.workshop import Workshop

pytestmark = pytest.mark.integration

SERVE = ("--no-operator",)


@pytest.fixture
def agent(caller: Connection) -> AgentClient:
    return AgentClient(caller, "watchman", "tester")


def _prompt() -> RequestPrompt:
    header = request_header(Sender(name="tester"), "watchman")
    return RequestPrompt(**header, prompt="are the nodes well")


def _resume(token: str) -> RequestResume:
    header = request_header(Sender(name="tester"), "watchman")
    return RequestResume(**header, conversation_token=token)


def session_of(caller: GaplessCaller) -> str:
    return session_id_for_token("watchman", caller.token)


def _text(end: TaskEnd) -> str:
    assert isinstance(end.terminal, Result)
    return end.terminal.text


async def test_another_worker_goes_on_with_what_a_killed_one_recorded(
    fleet: Workshop, js: JetStream, runs: StreamStore, agent: AgentClient
) -> None:
    fleet.write(
        "script.yaml",
        "turns:\n  - call: [{tool: report, input: {}}, {tool: report, input: {}}]\n"
        '  - say: "All is well."\n',
    )
    fault = {"FISK_AI_FAULT": "journal.append.synced:tool_result=kill"}
    killed, handlers = await fleet.start(*SERVE, environ=fault), GaplessCaller()
    asking = asyncio.create_task(agent.run(_prompt(), handlers))
    assert await killed.ended() < 0
    asking.cancel()
    await fleet.start(*SERVE)
    end = await agent.run(_resume(handlers.token), GaplessCaller())
    assert _text(end) == "All is well."
    records = await runs.records(session_of(handlers))
    results = Counter(r.payload.tool_use_id for r in records if isinstance(r.payload, ToolResult))
    assert sorted(results.values()) == [1, 1]
    assert (await runs.load(session_of(handlers))).status == "completed"
    assert [r.payload.by.partition("@")[0] for r in records if isinstance(r.payload, Claim)]


async def test_a_conversation_that_a_worker_runs_is_left_alone_by_every_other(
    fleet: Workshop, js: JetStream, runs: StreamStore, agent: AgentClient
) -> None:
    fleet.write("script.yaml", "turns:\n  - call: [{tool: hold, input: {}}]\n  - say: done\n")
    await fleet.start(*SERVE)
    handlers = GaplessCaller()
    running = asyncio.create_task(agent.run(_prompt(), handlers))
    await asyncio.wait_for(handlers.calling.wait(), 10)
    before = len(await runs.records(session_of(handlers)))
    await fleet.start(*SERVE)
    answers: set[str] = set()
    while not answers & {"conversation_busy"}:
        with contextlib.suppress(PeerError):
            end = await agent.run(_resume(handlers.token), GaplessCaller())
            assert isinstance(end.terminal, ErrorTerminal)
            answers.add(end.terminal.code)
    assert len(await runs.records(session_of(handlers))) == before
    fleet.gate.touch()
    assert _text(await running) == "done"
    assert [
        r for r in await runs.records(session_of(handlers)) if isinstance(r.payload, Claim)
    ] == []


async def test_a_memory_of_one_worker_is_there_for_another(
    fleet: Workshop, js: JetStream, agent: AgentClient
) -> None:
    fleet.write(
        "script.yaml",
        "turns:\n  - call: [{tool: memory_write,"
        " input: {key: k, description: d, content: kept}}]\n  - say: done\n",
    )
    await fleet.start(*SERVE)
    assert _text(await agent.run(_prompt(), GaplessCaller())) == "done"
    value = await Bucket(js, "MEM").get("watchman.k")
    assert value is not None
    assert value.body.endswith(b"kept")


async def test_a_worker_without_its_stream_is_refused_with_the_command_that_makes_it(
    fleet: Workshop,
) -> None:
    fleet.write("script.yaml", "turns: [{say: done}]\n")
    worker = await fleet.start(*SERVE, environ={"FISK_AI_START_TIMEOUT": "1s"})
    assert await worker.ended() == 1
    assert 'the session stream "RUNS" cannot be used: it does not exist' in worker.error
    assert "fisk-ai provision --apply" in worker.error
    assert "nats stream add RUNS" in worker.error
    waits = [json.loads(line) for line in worker.stderr.splitlines() if b'"waiting"' in line]
    assert len(waits) == 1
