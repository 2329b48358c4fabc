"""Workers that take durable turns in this process, over a real broker that keeps streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agent_worker.channels.turns import TurnsChannel
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.testing.broker import connected, running_broker
from fisk_ai.testing.turns import Fleet, fleet_at


async def start_turns(
    config: Config,
    connection: Connection,
    streams: Callable[[], Awaitable[JetStream]],
    store: StreamStore,
) -> TurnsChannel:
    channel = TurnsChannel(config, connection, streams, store, delays_s=(0.1,))
    await channel.start()
    return channel


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "broker", jetstream=True) as running:
        yield running


@pytest.fixture
async def fleet(broker: Broker) -> AsyncIterator[Fleet]:
    async with connected(broker, name="gateway") as connection:
        found = await fleet_at(broker, connection, start_turns)
        yield found
        await found.close()
