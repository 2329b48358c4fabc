"""What each role may do at a broker of the printed configuration, and that it may do no more."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.bus.connection import Inbound
from fisk_ai.errors import BusError
from fisk_ai.testing.roles import RoleFleet

pytestmark = pytest.mark.integration

PUBLISHED = {
    "ask for the card": "choria.fisk-ai.discovery.watchman",
    "prompt": "choria.fisk-ai.task.watchman",
    "cancel": "choria.fisk-ai.cancel.watchman.r1",
    "answer a question": "choria.fisk-ai.elicit.watchman.r1",
    "call a tool": "choria.fisk-ai.tool.watchman",
    "call a tool as the MCP gateway": "choria.fisk-ai.mcp.watchman",
    "speak to a run": "fisk.session.watchman.s1",
    "decide for a run that nobody holds": "fisk.operator.watchman",
    "prompt another agent": "choria.fisk-ai.task.other",
    "speak to another agent's run": "fisk.session.other.s1",
    "send a turn": "choria.fisk-ai.turn.watchman.slack",
    "send a turn of another channel": "choria.fisk-ai.turn.watchman.web",
    "reply to a turn": "choria.fisk-ai.reply.watchman.slack.t1.r1",
    "reply for another agent": "choria.fisk-ai.reply.other.slack.t1.r1",
    "bury a turn": "choria.fisk-ai.dead.watchman.slack",
    "search the knowledge": "fisk.knowledge.watchman.search",
    "rebuild the knowledge": "fisk.knowledge.watchman.admin.rebuild",
    "tell of new knowledge": "fisk.knowledge.watchman.event.indexed",
    "write a record": "fisk.sessions.RUNS.s1.2",
    "write a memory": "$KV.MEM.watchman.note",
    "write another agent's memory": "$KV.MEM.other.note",
    "write what the gateway keeps": "$KV.FISK_AI_GATEWAY.watchman.thread.t1",
    "write what another gateway keeps": "$KV.FISK_AI_GATEWAY.other.thread.t1",
    "write a job": "CHORIA_AJ.T.j1",
    "queue a job": "CHORIA_AJ.Q.FISK_AI.j1",
    "take a job": "$JS.API.CONSUMER.MSG.NEXT.CHORIA_AJ_Q_FISK_AI.WORKERS",
    "settle a job": "$JS.ACK.CHORIA_AJ_Q_FISK_AI.WORKERS.1.1.1.1.0",
    "take a turn": "$JS.API.CONSUMER.MSG.NEXT.FISK_AI_TURN.watchman_slack",
    "settle a turn": "$JS.ACK.FISK_AI_TURN.watchman_slack.1.1.1.1.0",
    "take a reply": "$JS.API.CONSUMER.MSG.NEXT.FISK_AI_REPLY.watchman_slack",
    "settle a reply": "$JS.ACK.FISK_AI_REPLY.watchman_slack.1.1.1.1.0",
    "take another agent's reply": "$JS.API.CONSUMER.MSG.NEXT.FISK_AI_REPLY.other_slack",
    "look at the session stream": "$JS.API.STREAM.INFO.RUNS",
    "read a record": "$JS.API.STREAM.MSG.GET.RUNS",
    "read a record past its leader": "$JS.API.DIRECT.GET.RUNS",
    "read sessions": "$JS.API.CONSUMER.CREATE.RUNS.c1.fisk.sessions.RUNS.s1.>",
    "have sessions sent on": "$JS.API.CONSUMER.CREATE.RUNS.c1",
    "follow sessions for good": "$JS.API.CONSUMER.DURABLE.CREATE.RUNS.c1",
    "make the session stream": "$JS.API.STREAM.CREATE.RUNS",
    "change the session stream": "$JS.API.STREAM.UPDATE.RUNS",
    "remove the session stream": "$JS.API.STREAM.DELETE.RUNS",
    "remove a session": "$JS.API.STREAM.PURGE.RUNS",
    "remove a record": "$JS.API.STREAM.MSG.DELETE.RUNS",
    "remove the memories": "$JS.API.STREAM.DELETE.KV_MEM",
    "remove the turns": "$JS.API.STREAM.PURGE.FISK_AI_TURN",
    "make a stream": "$JS.API.STREAM.CREATE.ANY",
    "list streams": "$JS.API.STREAM.LIST",
    "count streams": "$JS.API.INFO",
    "publish to any inbox": "_INBOX.x",
    "publish to a worker's inbox": "_INBOX_worker.x",
    "publish to its storage's inbox": "_INBOX_worker-store.x",
    "publish to a peer's inbox": "_INBOX_peer.x",
    "publish to an operator's inbox": "_INBOX_operator.x",
    "speak for the server": "$SYS.REQ.SERVER.PING",
}

HEARD = {
    "hear everything": ">",
    "hear every inbox": "_INBOX.>",
    "hear a worker's inbox": "_INBOX_worker.>",
    "hear its storage's inbox": "_INBOX_worker-store.>",
    "hear a peer's inbox": "_INBOX_peer.>",
    "hear the Slack gateway's inbox": "_INBOX_slack.>",
    "hear the MCP gateway's inbox": "_INBOX_mcp.>",
    "hear the indexer's inbox": "_INBOX_indexer.>",
    "hear an operator's inbox": "_INBOX_operator.>",
    "hear all inboxes": "*.>",
    "take prompts": "choria.fisk-ai.task.watchman",
    "take another agent's prompts": "choria.fisk-ai.task.other",
    "hear answers to questions": "choria.fisk-ai.elicit.watchman.*",
    "hold a session": "fisk.session.watchman.s1",
    "take what operators decide": "fisk.operator.watchman",
    "take searches": "fisk.knowledge.watchman.search",
    "hear turns": "choria.fisk-ai.turn.watchman.slack",
    "hear replies": "choria.fisk-ai.reply.>",
    "hear records": "fisk.sessions.RUNS.>",
    "hear jobs": "CHORIA_AJ.E.task_state.j1",
}

_STORAGE = {
    "write a record",
    "write a memory",
    "look at the session stream",
    "read a record",
    "read sessions",
}
_CONTROL = {"cancel", "answer a question"}

MAY = {
    "worker": {
        "speak to a run",
        "search the knowledge",
        "write a job",
        "take a job",
        "settle a job",
        "send a turn",
        "take a turn",
        "settle a turn",
        "reply to a turn",
        "bury a turn",
        "publish to a worker's inbox",
        "publish to a peer's inbox",
        "publish to an operator's inbox",
        "hear a worker's inbox",
        "take prompts",
        "hear answers to questions",
        "hold a session",
        "take what operators decide",
    },
    "worker-store": _STORAGE | {"hear its storage's inbox"},
    "peer": _CONTROL | {"ask for the card", "prompt", "call a tool", "hear a peer's inbox"},
    "slack": _CONTROL
    | {
        "send a turn",
        "take a reply",
        "settle a reply",
        "write what the gateway keeps",
        "hear the Slack gateway's inbox",
    },
    "mcp": _CONTROL | {"call a tool as the MCP gateway", "hear the MCP gateway's inbox"},
    "indexer": {
        "tell of new knowledge",
        "publish to a worker's inbox",
        "publish to an operator's inbox",
        "take searches",
        "hear the indexer's inbox",
    },
    "operator": _CONTROL
    | {
        "ask for the card",
        "prompt",
        "speak to a run",
        "decide for a run that nobody holds",
        "search the knowledge",
        "rebuild the knowledge",
        "send a turn",
        "send a turn of another channel",
        "write a job",
        "queue a job",
        "look at the session stream",
        "read a record",
        "read sessions",
        "remove a session",
        "make the session stream",
        "change the session stream",
        "count streams",
        "hear an operator's inbox",
        "hear jobs",
    },
}
"""Everything that a role may do of what is above; the rest it is refused."""


async def _nothing(inbound: Inbound) -> None:
    del inbound


async def _is_refused(fleet: RoleFleet, role: str, act: str) -> bool:
    async with fleet.connected(role) as connection:
        if act in PUBLISHED:
            await connection.publish(PUBLISHED[act], b"")
        else:
            await connection.watch(HEARD[act], _nothing)
        await connection.flush()  # what was refused was said before the answer to this
        fault = asyncio.create_task(connection.fault())
        await asyncio.wait({fault}, timeout=0.1)
        if not fault.done():
            fault.cancel()
            return False
        assert isinstance(refusal := fault.result(), BusError)
        assert "does not allow" in str(refusal)
        return True


@pytest.mark.parametrize("role", MAY)
async def test_a_role_does_what_is_its_own_and_is_refused_everything_else(
    whole: RoleFleet, role: str
) -> None:
    acts = [*PUBLISHED, *HEARD]
    refused = await asyncio.gather(*(_is_refused(whole, role, act) for act in acts))
    assert {act for act, no in zip(acts, refused, strict=True) if not no} == MAY[role]


async def test_every_role_there_is_has_a_user_and_nobody_else_has(whole: RoleFleet) -> None:
    assert set(whole.printed.users) == set(MAY)
