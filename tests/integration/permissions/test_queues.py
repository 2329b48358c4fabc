"""Turns, replies, dead letters and jobs over the printed broker: each role does its own part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.bucket import Bucket
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import EXPECTED_SEQUENCE, JetStream
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.pulling import Delivery, open_pull
from fisk_ai.bus.stream_reading import Reading, read
from fisk_ai.testing.broker import running_server, running_streams
from fisk_ai.testing.roles import Printed, RoleFleet
from fisk_ai.testing.workshop import Workshop

pytestmark = pytest.mark.integration

STREAMS = {
    "FISK_AI_TURN": ("choria.fisk-ai.turn.*.*", "workqueue"),
    "FISK_AI_REPLY": ("choria.fisk-ai.reply.>", "limits"),
    "FISK_AI_DEAD": ("choria.fisk-ai.dead.>", "limits"),
    "KV_FISK_AI_GATEWAY": ("$KV.FISK_AI_GATEWAY.>", "limits"),
    "CHORIA_AJ_TASKS": ("CHORIA_AJ.T.*", "limits"),
    "CHORIA_AJ_Q_FISK_AI": ("CHORIA_AJ.Q.FISK_AI.>", "workqueue"),
}
CONSUMERS = {
    "FISK_AI_TURN.watchman_slack": "choria.fisk-ai.turn.watchman.slack",
    "FISK_AI_REPLY.watchman_slack": "choria.fisk-ai.reply.watchman.slack.>",
    "CHORIA_AJ_Q_FISK_AI.WORKERS": "",
}
TURN = "choria.fisk-ai.turn.watchman.slack"
REPLY = "choria.fisk-ai.reply.watchman.slack.t1.r1"
DEAD = "choria.fisk-ai.dead.watchman.slack"


async def _make(js: JetStream) -> None:
    for name, (subject, retention) in STREAMS.items():
        config: dict[str, object] = {
            "name": name,
            "subjects": [subject],
            "retention": retention,
            "max_msgs_per_subject": 1 if name.startswith("KV_") else -1,
        }
        await js.api(f"STREAM.CREATE.{name}", config, msgspec.Raw)
    for place, subject in CONSUMERS.items():
        stream, _, name = place.partition(".")
        config = {"durable_name": name, "ack_policy": "explicit", "filter_subject": subject}
        asked = {"stream_name": stream, "config": config}
        await js.api(f"CONSUMER.DURABLE.CREATE.{place}", asked, msgspec.Raw)


@pytest.fixture
async def queues(
    shop: Workshop, tmp_path: Path, prints: Callable[[str], Printed], more: str
) -> AsyncIterator[RoleFleet]:
    """The printed broker over what somebody with every right has made."""
    async with running_streams(tmp_path / "made") as js:
        await _make(js)
    printed = prints(more)
    text = printed.runnable(tmp_path / "made" / "js")
    async with running_server(tmp_path / "server", text, environ=printed.passwords) as url:
        yield RoleFleet(shop, printed, url)


async def taken(connection: Connection, consumer: str) -> Delivery:
    """Take one message from a consumer."""
    pull = await open_pull(connection, f"$JS.API.CONSUMER.MSG.NEXT.{consumer}")
    await pull.ask(1, expires_s=5)
    delivery = await pull.next(5)
    await pull.close()
    assert delivery is not None
    return delivery


async def settled(connection: Connection, delivery: Delivery) -> bool:
    """Renew what was taken, and settle it."""
    async with Lease(connection, delivery, length_s=60) as lease:
        return await lease.ack()


async def test_a_gateway_sends_a_turn_and_reads_the_replies_of_the_worker(
    queues: RoleFleet,
) -> None:
    async with queues.connected("slack") as slack, queues.connected("worker") as worker:
        gateway, agent = JetStream(slack), JetStream(worker)
        assert await gateway.streams_of("choria.fisk-ai.reply.>") == ["FISK_AI_REPLY"]
        state = Bucket(gateway, "FISK_AI_GATEWAY")
        revision = await state.create("watchman.thread.t1", b"asked")
        assert revision is not None
        await gateway.publish(TURN, b"turn")

        delivery = await taken(worker, "FISK_AI_TURN.watchman_slack")
        assert await agent.newest("FISK_AI_REPLY", REPLY) is None
        await agent.publish(REPLY, b"done", headers={EXPECTED_SEQUENCE: "0"})
        assert await settled(worker, delivery)

        doorbell = await taken(slack, "FISK_AI_REPLY.watchman_slack")
        stored = await gateway.next_after("FISK_AI_REPLY", 0, f"{REPLY[:-2]}*")
        assert stored is not None
        assert stored.body == b"done"
        assert await settled(slack, doorbell)
        assert await state.update("watchman.thread.t1", b"answered", revision) is not None
        held = await gateway.stream("KV_FISK_AI_GATEWAY", subjects=">")
        assert list(held.subjects) == ["$KV.FISK_AI_GATEWAY.watchman.thread.t1"]


async def test_an_operator_reads_a_dead_turn_sends_it_again_and_removes_the_letter(
    queues: RoleFleet,
) -> None:
    async with queues.connected("worker") as worker, queues.connected("operator") as operator:
        await JetStream(worker).publish(DEAD, b"letter")
        js = JetStream(operator)
        assert await js.streams_of(DEAD) == ["FISK_AI_DEAD"]
        async with aclosing(read(js, Reading("FISK_AI_DEAD", f"{DEAD[:-5]}*"))) as letters:
            (letter,) = [message async for message in letters]
        await js.publish(TURN, letter.body)
        await js.api("STREAM.MSG.DELETE.FISK_AI_DEAD", {"seq": letter.seq}, msgspec.Raw)
        assert (await taken(worker, "FISK_AI_TURN.watchman_slack")).message.body == b"letter"
        assert (await js.stream("FISK_AI_DEAD")).messages == 0


async def test_an_operator_queues_a_job_that_a_worker_takes_and_both_see_its_record(
    queues: RoleFleet,
) -> None:
    async with queues.connected("worker") as worker, queues.connected("operator") as operator:
        js, agent = JetStream(operator), JetStream(worker)
        await js.publish("CHORIA_AJ.T.j1", b"new", headers={EXPECTED_SEQUENCE: "0"})
        await js.publish("CHORIA_AJ.Q.FISK_AI.j1", b"item")
        delivery = await taken(worker, "CHORIA_AJ_Q_FISK_AI.WORKERS")
        found = await agent.newest("CHORIA_AJ_TASKS", "CHORIA_AJ.T.j1")
        assert found is not None
        fence = {EXPECTED_SEQUENCE: str(found.seq)}
        await agent.publish("CHORIA_AJ.T.j1", b"completed", headers=fence)
        await worker.publish("CHORIA_AJ.E.task_state.j1", b"completed")
        assert await settled(worker, delivery)
        async with aclosing(read(js, Reading("CHORIA_AJ_TASKS", "CHORIA_AJ.T.*"))) as records:
            assert [record.body async for record in records][-1] == b"completed"
