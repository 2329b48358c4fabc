"""An operator at a terminal decides what the workers of an agent wait for, over the broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.a2a import codec
from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import Answer, OperatorStatus
from fisk_ai.a2a.operator_client import OperatorClient
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, ConnectOptions, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import BusError, NoRespondersError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.records import CallApproval, Claim
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import absent, code_of, header, prompt
from fisk_ai.testing.workshop import Typed, Types, Workshop, typing_in

pytestmark = pytest.mark.integration

CONFIG = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{request_timeout: 8s, prompts: {{{prompts}}}}}}}}}
harness: {{sessions: {sessions}}}
"""
STREAM = "{backend: jetstream, options: {stream: RUNS}}"
FILES = "{backend: file, options: {directory: runs}}"
SCRIPT = """\
turns:
  - {call: [{tool: drop, input: {}}]}
  - {say: Dropped.}
"""
AGENT = ("--config", "agent.yaml")


@dataclass(slots=True)
class Agent:
    """An agent whose only command needs an approval, and who speaks to it."""

    shop: Workshop
    caller: Connection
    types: Types

    def write(self, *, prompts: str = "approvals: park", sessions: str = STREAM) -> None:
        path = self.shop.application.path
        text = CONFIG.format(application=path, prompts=prompts, sessions=sessions)
        self.shop.write("agent.yaml", text)
        self.shop.write("script.yaml", SCRIPT)

    async def parked(self) -> str:
        """Prompt it and return the session that waits."""
        caller = RecordingCaller()
        end = await AgentClient(self.caller, "watchman", "peer").run(prompt(), caller)
        assert code_of(end) == "suspended"
        return session_id_for_token("watchman", caller.token)

    async def session(self, *words: str, **environ: str) -> Typed:
        """Type ``fisk-ai session`` with words."""
        reached = {"FISK_AI_NATS_URL": self.shop.url, **environ}
        return await self.types("session", *words, **reached)

    @property
    def ran(self) -> int:
        """How often the command ran."""
        return self.shop.application.count("drop")


@pytest.fixture
async def agent(
    broker: Broker, caller: Connection, js: JetStream, tmp_path: Path
) -> AsyncIterator[Agent]:
    directory = tmp_path / "agent"
    command = FakeCommand(path="drop", output="gone\n", tags=("ai:confirm",))
    application = FakeApplication(directory, [command])
    shop = Workshop(directory, broker.url_with_credentials, application, state="")
    made = Agent(shop, caller, typing_in(directory))
    made.write()
    yield made
    await shop.close()


async def test_a_parked_call_is_listed_approved_and_run_from_a_terminal(
    agent: Agent, runs: StreamStore
) -> None:
    await agent.shop.start("--no-operator")
    session = await agent.parked()
    listed = await agent.session("pending", "--json", *AGENT)
    (waits,) = json.loads(listed.out)["calls"]
    assert (waits["run_id"], waits["kind"], waits["tool"]) == (session, "approve", "drop")
    done = await agent.session("approve", session, "--args", *AGENT)
    assert (done.code, done.out) == (0, "{}\nDropped.\n"), done.err
    assert "-> " in done.err
    assert "Run summary:" in done.err
    assert agent.ran == 1
    records = [record.payload for record in await runs.records(session)]
    assert sum(isinstance(each, CallApproval) for each in records) == 1


async def test_an_operator_needs_no_configuration_and_no_right_to_the_journals(
    agent: Agent,
) -> None:
    await agent.shop.start("--no-operator")
    session = await agent.parked()
    agent.shop.write("agent.yaml", "")
    there = ("--nats-context", "none", "--identity", "watchman")
    denied = await agent.session("deny", session, *there)
    assert (denied.code, denied.out, agent.ran) == (0, "Dropped.\n", 0), denied.err


async def test_a_live_call_of_a_busy_worker_is_listed_and_approved_from_a_terminal(
    agent: Agent,
) -> None:
    agent.write(prompts="elicit: true, workers: 1")
    await agent.shop.start("--no-operator")
    caller = absent()
    client = AgentClient(agent.caller, "watchman", "peer")
    running = asyncio.create_task(client.run(prompt(), caller))
    await asyncio.wait_for(caller.asked.wait(), 10)
    session = session_id_for_token("watchman", caller.token)
    listed = await agent.session("pending", *AGENT)
    assert session in listed.out
    assert "approve" in listed.out
    done = await agent.session("approve", session, *AGENT)
    assert (done.code, done.out) == (0, "recorded\n"), done.err
    assert code_of(await asyncio.wait_for(running, 10)) == ""
    assert agent.ran == 1


async def test_an_agent_that_keeps_its_sessions_in_files_is_decided_about_over_nats(
    agent: Agent,
) -> None:
    agent.write(sessions=FILES, prompts="elicit: true")
    await agent.shop.start("--no-operator")
    caller = absent()
    client = AgentClient(agent.caller, "watchman", "peer")
    running = asyncio.create_task(client.run(prompt(), caller))
    await asyncio.wait_for(caller.asked.wait(), 10)
    session = session_id_for_token("watchman", caller.token)
    locked = await agent.session("approve", session, *AGENT)
    assert locked.code == 1
    assert "answer it there or over NATS (--nats-context)" in locked.err
    done = await agent.session("approve", session, "--nats-context", "none", *AGENT)
    assert (done.code, done.out) == (0, "recorded\n"), done.err
    assert code_of(await asyncio.wait_for(running, 10)) == ""
    with pytest.raises(NoRespondersError):
        await agent.caller.request(f"fisk.session.watchman.{session}", b"", timeout_s=2)


async def test_a_decision_that_nobody_is_there_for_says_so(agent: Agent) -> None:
    done = await agent.session("approve", "t-1", *AGENT)
    assert (done.code, done.out) == (1, "")
    assert 'no worker of agent "watchman" answers' in done.err
    assert len(done.err.strip().splitlines()) == 1
    await agent.shop.start("--no-operator")
    unknown = await agent.session("deny", "t-1", *AGENT)
    assert unknown.code == 1
    assert 'agent "watchman" has no session "t-1"' in unknown.err


async def test_a_worker_killed_between_its_claim_and_the_approval_leaves_it_to_the_next(
    agent: Agent, runs: StreamStore
) -> None:
    fault = {"FISK_AI_FAULT": "journal.append.before:call_approval=kill"}
    killed = await agent.shop.start("--no-operator", environ=fault)
    session = await agent.parked()
    once = Answer(tool_use_id=(await _waits(agent, session)), kind="approve", choice="once")
    operator = OperatorClient(agent.caller, "watchman", "ops")
    deciding = asyncio.create_task(operator.decide(session, once, RecordingCaller()))
    assert await killed.ended() < 0
    deciding.cancel()
    assert isinstance((await runs.records(session))[-1].payload, Claim)
    await agent.shop.start("--no-operator")
    done = await agent.session("approve", session, *AGENT)
    assert (done.code, done.out) == (0, "Dropped.\n"), done.err
    assert agent.ran == 1
    records = [record.payload for record in await runs.records(session)]
    assert sum(isinstance(each, CallApproval) for each in records) == 1


async def _waits(agent: Agent, session: str) -> str:
    state = await OperatorClient(agent.caller, "watchman", "ops").status(session)
    return state.waiting[0].tool_use_id


SERVER = """\
jetstream {{ store_dir: {store}, sync_interval: always }}
accounts {{ A {{ jetstream: enabled, users: [
  {{ user: worker, password: w }}
  {{ user: peer, password: p, permissions: {{
      publish: [choria.fisk-ai.task.watchman, "choria.fisk-ai.cancel.watchman.>",
                "choria.fisk-ai.elicit.watchman.>", choria.fisk-ai.discovery.watchman]
      subscribe: ["_INBOX.>"] }} }}
  {{ user: operator, password: o, permissions: {{
      publish: ["fisk.session.watchman.*", fisk.operator.watchman]
      subscribe: ["_INBOX.>"] }} }}
] }} }}
"""


async def test_who_may_prompt_and_who_may_approve_are_different_users(tmp_path: Path) -> None:
    directory = tmp_path / "agent"
    command = FakeCommand(path="drop", output="gone\n", tags=("ai:confirm",))
    application = FakeApplication(directory, [command])
    async with AsyncExitStack() as opened:
        store = json.dumps(str(tmp_path / "store"))
        url = await opened.enter_async_context(
            running_server(tmp_path / "server", SERVER.format(store=store))
        )
        shop = Workshop(directory, url.replace("://", "://worker:w@"), application, state="")
        opened.push_async_callback(shop.close)
        peer = await connect(ConnectOptions(url, "peer", user="peer", password="p"))
        opened.push_async_callback(peer.drain)
        agent = Agent(shop, peer, typing_in(directory))
        agent.write(sessions=FILES, prompts="approvals: park, approve: operator")
        await shop.start("--no-operator")
        session = await agent.parked()

        status = codec.encode(OperatorStatus(**header(), session=session))
        for subject in (f"fisk.session.watchman.{session}", "fisk.operator.watchman"):
            with pytest.raises(BusError):
                await peer.request(subject, status, timeout_s=0.5)
        operator = await connect(ConnectOptions(url, "operator", user="operator", password="o"))
        opened.push_async_callback(operator.drain)
        task, asked = "choria.fisk-ai.task.watchman", codec.encode(prompt())
        with pytest.raises(BusError):
            await operator.request(task, asked, timeout_s=0.5)
        assert agent.ran == 0

        there = ("--nats-context", "none", "--identity", "watchman")
        as_operator = {"FISK_AI_NATS_URL": url.replace("://", "://operator:o@")}
        done = await agent.session("approve", session, *there, **as_operator)
        assert (done.code, done.out, agent.ran) == (0, "Dropped.\n", 1), done.err
