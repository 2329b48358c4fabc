"""What ends a process, and what it lives through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from fisk_ai.bus import guard
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.client import Limits
from fisk_ai.bus.connection import Connection, ConnectOptions, Inbound, Received, connect
from fisk_ai.errors import BusError, NoRespondersError

Serve = Callable[[str], AbstractAsyncContextManager[str]]

RESTRICTED = """
listen: "127.0.0.1:-1"
authorization {
  users: [
    {user: worker, password: w, permissions: {
      publish: ["_INBOX_caller.>"], subscribe: ["work", "$SRV.>", "_INBOX_worker.>"]}}
    {user: caller, password: c}
  ]
}
"""


def _as_worker(url: str, *accepted: str) -> ConnectOptions:
    return ConnectOptions(
        url,
        "worker",
        user="worker",
        password="w",
        inbox_prefix="_INBOX_worker",
        accepted_prefixes=accepted,
    )


async def _nothing(_: Inbound) -> None:
    return


async def test_a_subscription_that_is_not_permitted_is_a_fault(serve: Serve) -> None:
    async with serve(RESTRICTED) as url:
        worker = await connect(_as_worker(url))
        await worker.watch("work", _nothing)
        fault = asyncio.create_task(worker.fault())
        await worker.flush(5)
        assert not fault.done()

        await worker.watch("secret.work", _nothing)

        error = await asyncio.wait_for(fault, 5)
        assert isinstance(error, BusError)
        assert "secret.work" in str(error)
        await worker.drain()


async def test_a_publish_that_is_not_permitted_is_a_fault(serve: Serve) -> None:
    async with serve(RESTRICTED) as url:
        worker = await connect(_as_worker(url))

        await worker.publish("journal.x", b"")

        assert "journal.x" in str(await asyncio.wait_for(worker.fault(), 5))
        await worker.drain()


async def test_no_caller_ends_a_worker_by_naming_an_inbox_it_may_not_answer(
    serve: Serve,
) -> None:
    async with serve(RESTRICTED) as url:
        worker = await connect(_as_worker(url, "_INBOX_caller"))
        caller = await connect(
            ConnectOptions(url, "c", user="caller", password="c", inbox_prefix="_INBOX_caller")
        )

        async def answer(request: Inbound) -> None:
            await request.respond(b"answer")

        await worker.watch("work", answer)
        fault = asyncio.create_task(worker.fault())

        await caller.publish_request("work", b"", reply="_INBOX.not.mine")
        reply = await caller.request("work", b"", timeout_s=5)
        await worker.flush(5)

        assert reply.body == b"answer"
        assert not fault.done()
        fault.cancel()
        await caller.drain()
        await worker.drain()


async def test_a_connection_closed_for_good_is_a_fault(worker: Connection) -> None:
    fault = asyncio.create_task(worker.fault())
    inbox = await worker.open_inbox()

    await worker._client.close()  # pyright: ignore[reportPrivateUsage] - nobody else can

    assert "closed" in str(await asyncio.wait_for(fault, 5))
    with pytest.raises(BusError):
        await inbox.next(5)


async def test_our_own_end_is_no_fault(worker: Connection) -> None:
    fault = asyncio.create_task(worker.fault())

    await worker.drain()

    assert not fault.done()
    fault.cancel()


async def test_a_flood_is_shed_and_counted_and_no_fault(
    worker: Connection, caller: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "PENDING", Limits(messages=10, body_bytes=1_000_000))
    go_on = asyncio.Event()
    served = 0

    async def slow(request: Inbound) -> None:
        nonlocal served
        await go_on.wait()
        served += 1
        if request.reply:
            await request.respond(b"here")

    await worker.watch("flood", slow, bound=2)
    fault = asyncio.create_task(worker.fault())
    for _ in range(500):
        await caller.publish("flood", b"x")
    await caller.flush(5)
    await worker.flush(5)
    shed = worker.shed
    go_on.set()

    assert (await caller.request("flood", b"", timeout_s=5)).body == b"here"
    assert shed > 400
    assert served + worker.shed == 501
    assert not fault.done()
    fault.cancel()


async def test_a_restarted_broker_is_waited_for_and_subscriptions_survive(serve: Serve) -> None:
    async with serve('listen: "127.0.0.1:-1"') as url:
        port = url.rpartition(":")[2]
        worker = await connect(ConnectOptions(url, "worker"))
        caller = await connect(ConnectOptions(url, "caller"))

        async def answer(request: Inbound) -> None:
            await request.respond(b"still here")

        await worker.watch("work", answer)
        fault = asyncio.create_task(worker.fault())
    async with serve(f'listen: "127.0.0.1:{port}"'):
        async with asyncio.timeout(15):
            reply = await _answered(caller)

        assert reply.body == b"still here"
        assert not fault.done()
        fault.cancel()
        await caller.drain()
        await worker.drain()


async def _answered(caller: Connection) -> Received:
    while True:
        try:
            return await caller.request("work", b"", timeout_s=5)
        except NoRespondersError:
            continue  # the caller was back before the worker


async def test_draining_while_the_broker_is_away_ends(broker: Broker) -> None:
    connection = await connect(ConnectOptions(broker.url_with_credentials, "test"))
    await connection.watch("work", _nothing)
    await broker.stop()

    await asyncio.wait_for(connection.drain(), 15)

    with pytest.raises(BusError):  # closed, and not merely away: then it would be kept
        await connection.publish("work", b"")
