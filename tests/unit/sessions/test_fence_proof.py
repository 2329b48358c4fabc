"""A server has to prove that it keeps the fence of sessions before a worker records behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import EXPECTED_FILTER, JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.errors import SetupError
from fisk_ai.sessions import stream_place
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.broker import connected, provision, running_broker

pytestmark = pytest.mark.integration

UNKNOWN = EXPECTED_FILTER.replace("Nats-", "Xats-")
"""A header of the same length that no server knows."""


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "broker", jetstream=True) as running:
        async with connected(running) as connection:
            await provision(JetStream(connection), stream_wish("RUNS", replicas=1))
        yield running


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line.replace(EXPECTED_FILTER.encode(), UNKNOWN.encode()))
        await writer.drain()
    writer.close()


@asynccontextmanager
async def fenceless(broker: Broker) -> AsyncGenerator[Connection, None]:
    """Connect to a broker that does not know which subjects a fence is over."""
    host, _, port = broker.url.removeprefix("nats://").partition(":")
    tasks: list[asyncio.Task[None]] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_broker, to_broker = await asyncio.open_connection(host, int(port))
        tasks.append(asyncio.create_task(_passed_on(reader, to_broker)))
        tasks.append(asyncio.create_task(_passed_on(from_broker, writer)))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    port_here: int = server.sockets[0].getsockname()[1]
    options = ConnectOptions(
        f"nats://127.0.0.1:{port_here}", "test", user=broker.user, password=broker.password
    )
    connection = await connect(options)
    try:
        yield connection
    finally:
        await connection.drain()
        server.close()
        await asyncio.gather(*tasks)


async def test_a_server_that_ignores_the_fence_is_refused_with_the_version_needed(
    broker: Broker,
) -> None:
    async with fenceless(broker) as connection:
        with pytest.raises(SetupError, match=r"run nats-server 2\.14 or newer"):
            await stream_place.bind(JetStream(connection), "RUNS", writes=True)


async def test_the_proof_leaves_one_message_however_often_it_is_asked_for(broker: Broker) -> None:
    async with connected(broker) as connection:
        js = JetStream(connection)
        place = await stream_place.bind(js, "RUNS", writes=True)
        await stream_place.bind(js, "RUNS", writes=True)
        held = await js.stream("RUNS", subjects=">")
        assert held.total == 1
        assert place.run_of(next(iter(held.subjects))) == ""  # no session's


async def test_workers_that_start_together_all_have_their_proof(broker: Broker) -> None:
    async with connected(broker) as connection:
        js = JetStream(connection)
        await asyncio.gather(*(stream_place.bind(js, "RUNS", writes=True) for _ in range(20)))


async def test_who_only_reads_asks_for_no_proof(broker: Broker) -> None:
    async with fenceless(broker) as connection:
        js = JetStream(connection)
        await stream_place.bind(js, "RUNS", writes=False)
        assert (await js.stream("RUNS")).messages == 0
