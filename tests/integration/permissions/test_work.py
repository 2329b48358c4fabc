"""Every role at its work, over a broker that lets it do that and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    DiscoveryRequest,
    ErrorTerminal,
    RequestPrompt,
    Result,
    Sender,
    ToolRequest,
    request_header,
)
from fisk_ai.a2a.tool_client import call_tool
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.presence import Presence
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.roles import RoleFleet

pytestmark = pytest.mark.integration

REMEMBERS = """\
turns:
  - call: [{tool: report, input: {}}]
  - call: [{tool: memory_write, input: {key: nodes, description: d, content: three}}]
  - say: all is well
"""
HOLDS = """\
turns:
  - call: [{tool: hold, input: {}}]
  - say: done
"""
DROPS = """\
turns:
  - call: [{tool: drop, input: {}}]
  - say: dropped
"""
FOREIGN = (
    "fisk.sessions.RUNS.victim.2",
    "fisk.session.watchman.victim",
    "_INBOX_worker-store.x",
    "_INBOX_peers.x",
    "$KV.MEM.watchman.x",
)
"""Replies that nobody of this fleet hears, and two that would be stored."""


async def prompt(connection: Connection, caller: GaplessCaller) -> TaskEnd:
    """Have the agent do something."""
    request = RequestPrompt(**request_header(Sender(name="peer"), "watchman"), prompt="look")
    return await AgentClient(connection, "watchman", "peer").run(request, caller)


async def test_an_operator_provisions_what_the_worker_then_finds(bare: RoleFleet) -> None:
    first = await bare.operate("provision", "--apply")
    assert (first.code, first.err.splitlines()) == (0, ["RUNS: created", "KV_MEM: created"])
    again = await bare.operate("provision", "--apply")
    assert again.err.splitlines() == ["RUNS: exists", "KV_MEM: exists"]


async def test_a_peer_prompts_discovers_and_calls_tools_of_a_worker_that_keeps_everything(
    fleet: RoleFleet,
) -> None:
    fleet.shop.write("script.yaml", REMEMBERS)
    await fleet.start()
    caller = GaplessCaller()
    async with fleet.connected("peer") as peer:
        card = await AgentClient(peer, "watchman", "peer").card(5)
        assert card.model == "test-model"
        end = await prompt(peer, caller)
        assert isinstance(end.terminal, Result)
        assert end.terminal.text == "all is well"
        reply = await call_tool(peer, "watchman", "peer", ("report", b"{}"), idle_s=5)
        assert reply.output == "3 nodes, none failed\n"
    async with fleet.connected("operator") as operator:
        assert (await JetStream(operator).stream("KV_MEM")).messages == 1
    session = session_id_for_token("watchman", caller.token)
    listed = await fleet.operate("session", "ls", "--config", "agent.yaml")
    assert session in listed.out
    shown = await fleet.operate("session", "show", session, "--config", "agent.yaml")
    assert "Status: completed" in shown.out
    removed = await fleet.operate("session", "rm", session, "--config", "agent.yaml")
    assert (removed.code, removed.out) == (0, f"Removed session {session}\n")


async def test_an_operator_asks_who_holds_a_session_and_cannot_remove_it_before_it_ends(
    fleet: RoleFleet,
) -> None:
    fleet.shop.write("script.yaml", HOLDS)
    await fleet.start()
    caller = GaplessCaller()
    async with fleet.connected("peer") as peer, fleet.connected("operator") as operator:
        running = asyncio.create_task(prompt(peer, caller))
        await asyncio.wait_for(caller.calling.wait(), 10)
        session = session_id_for_token("watchman", caller.token)
        assert await Presence(operator, "watchman").look(session) == "held"
        busy = await fleet.operate("session", "rm", session, "--config", "agent.yaml")
        assert busy.code == 1
        assert "is held by another run" in busy.err
        fleet.shop.gate.touch()
        assert isinstance((await running).terminal, Result)
        assert await Presence(operator, "watchman").look(session) == "nobody"


async def test_an_operator_approves_what_a_peer_can_only_ask_for(fleet: RoleFleet) -> None:
    written = (fleet.shop.directory / "agent.yaml").read_text()
    operated = "{workers: 2, approve: operator, approvals: park}"
    fleet.shop.write("agent.yaml", written.replace("{workers: 2}", operated))
    fleet.shop.write("script.yaml", DROPS)
    await fleet.start()
    caller = GaplessCaller()
    async with fleet.connected("peer") as peer:
        end = await prompt(peer, caller)
        assert isinstance(end.terminal, ErrorTerminal)
        assert end.terminal.code == "suspended"
    session = session_id_for_token("watchman", caller.token)
    done = await fleet.operate("session", "approve", session, "--config", "agent.yaml")
    assert (done.code, done.out) == (0, "dropped\n"), done.err
    assert fleet.shop.application.count("drop") == 1


async def test_a_reply_subject_outside_the_accepted_prefixes_gets_no_answer_and_no_publish(
    fleet: RoleFleet,
) -> None:
    fleet.shop.write("script.yaml", REMEMBERS)
    await fleet.start()
    header = request_header(Sender(name="peer"), "watchman")
    asked = {
        subjects.discovery("watchman"): DiscoveryRequest(**header),
        subjects.task("watchman"): RequestPrompt(**header, prompt="look"),
        subjects.tool("watchman"): ToolRequest(**header, name="report"),
    }
    async with fleet.connected("peer") as peer, fleet.connected("operator") as operator:
        js = JetStream(operator)
        before = await js.stream("RUNS")
        for subject, request in asked.items():
            for reply in FOREIGN:
                await peer.publish_request(subject, codec.encode(request), reply=reply)
        assert (await AgentClient(peer, "watchman", "peer").card(5)).model == "test-model"
        assert (await js.stream("RUNS")).last_seq == before.last_seq
        assert (await js.stream("KV_MEM")).messages == 0


async def test_a_callers_inbox_that_is_no_roles_ends_no_worker(fleet: RoleFleet) -> None:
    fleet.shop.write("script.yaml", REMEMBERS)
    await fleet.start()
    body = codec.encode(DiscoveryRequest(**request_header(Sender(name="peer"), "watchman")))
    async with fleet.connected("peer") as peer:
        await peer.publish_request(subjects.discovery("watchman"), body, reply="_INBOX.x")
        assert (await AgentClient(peer, "watchman", "peer").card(5)).model == "test-model"
    assert fleet.shop.workers[0].process.returncode is None
