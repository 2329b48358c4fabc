"""The micro service as others see it."""

from __future__ import annotations

import asyncio
import json

from nats.micro.service import ServiceInfo, ServicePing, ServiceStats

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.testing.broker import connected


async def _ok(request: Inbound) -> None:
    await request.respond(b"ok")


async def test_a_service_says_what_the_protocol_lists(
    worker: Connection, caller: Connection
) -> None:
    service = await worker.service("agent", description="a2a protocol endpoint for this agent")
    await service.add_endpoint("task", "choria.fisk-ai.task.agent", _ok)
    await caller.request("choria.fisk-ai.task.agent", b"", timeout_s=5)

    asked = [
        json.loads((await caller.request(f"$SRV.{verb}.agent", b"", timeout_s=5)).body)
        for verb in ("PING", "INFO", "STATS")
    ]
    ping = ServicePing.from_dict(asked[0])
    info = ServiceInfo.from_dict(asked[1])
    stats = ServiceStats.from_dict(asked[2])

    assert [entry["type"] for entry in asked] == [
        "io.nats.micro.v1.ping_response",
        "io.nats.micro.v1.info_response",
        "io.nats.micro.v1.stats_response",
    ]
    assert {ping.name, info.name, stats.name} == {"agent"}
    assert {ping.version, info.version, stats.version} == {"0.0.0"}
    assert ping.id == info.id == stats.id != ""
    assert info.description == "a2a protocol endpoint for this agent"
    assert ping.metadata == info.metadata == stats.metadata == {}
    assert info.endpoints[0].to_dict() == {
        "name": "task",
        "subject": "choria.fisk-ai.task.agent",
        "queue_group": "agent",
        "metadata": {},
    }
    assert stats.endpoints[0].num_requests == 1
    assert stats.endpoints[0].num_errors == 0


async def test_a_service_is_found_by_all_three_scopes(
    worker: Connection, caller: Connection
) -> None:
    service = await worker.service("agent")

    for subject in ("$SRV.PING", "$SRV.PING.agent", f"$SRV.PING.agent.{service.unique}"):
        reply = await caller.request(subject, b"", timeout_s=5)
        assert json.loads(reply.body)["name"] == "agent"


async def test_refusals_and_failures_are_counted_without_their_detail(
    worker: Connection, caller: Connection
) -> None:
    async def fail(_: Inbound) -> None:
        raise ValueError("secret")

    service = await worker.service("agent")
    await service.add_endpoint("task", "work", fail)
    await caller.request("work", b"", timeout_s=5)

    reply = await caller.request("$SRV.STATS.agent", b"", timeout_s=5)

    assert json.loads(reply.body)["endpoints"][0]["num_errors"] == 1
    assert b"secret" not in reply.body


async def test_two_workers_of_one_identity_share_the_requests(
    broker: Broker, caller: Connection
) -> None:
    async with connected(broker) as first, connected(broker) as second:
        served: list[str] = []
        for name, connection in (("first", first), ("second", second)):

            async def serve(request: Inbound, name: str = name) -> None:
                served.append(name)
                await request.respond(b"")

            service = await connection.service("agent")
            await service.add_endpoint("task", "work", serve)

        for _ in range(40):
            await caller.request("work", b"", timeout_s=5)

    assert len(served) == 40
    assert set(served) == {"first", "second"}


async def test_stopping_leaves_the_queue_group_and_serves_what_was_taken(
    worker: Connection, caller: Connection
) -> None:
    taken = asyncio.Event()
    go_on = asyncio.Event()

    async def slow(request: Inbound) -> None:
        taken.set()
        await go_on.wait()
        await request.respond(b"served")

    service = await worker.service("agent")
    await service.add_endpoint("task", "work", slow)
    request = asyncio.create_task(caller.request("work", b"", timeout_s=5))
    await taken.wait()
    stopping = asyncio.create_task(service.stop())
    await asyncio.sleep(0)
    go_on.set()

    assert (await request).body == b"served"
    await stopping
    await service.stop()
    inbox = await caller.open_inbox()
    await caller.publish_request("work", b"", reply=inbox.subject)
    message = await inbox.next(5)
    assert message is not None
    assert message.no_responders
