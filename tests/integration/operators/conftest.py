"""An agent with sessions at a broker, whose workers run in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_worker.channels.prompts import PromptsChannel
from agent_worker.operators.door import Door
from agent_worker.operators.endpoint import OperatorEndpoint
from agent_worker.operators.runs import Runs
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.broker import connected, provision, running_broker
from fisk_ai.testing.office import IDENTITY, Office, Started


async def start(config: Config, connection: Connection) -> Started:
    runs = Runs()
    store = await opened(connection, runs)
    service = await connection.service(IDENTITY)
    channel = PromptsChannel(config, connection, service, store)
    await channel.start()
    endpoint = OperatorEndpoint(IDENTITY, store, prompts=channel)
    await endpoint.start(service)
    return Started(channel, endpoint, store, runs.noting)


async def opened(connection: Connection, runs: Runs) -> StreamStore:
    presence = Presence(connection, IDENTITY, door=Door(IDENTITY, runs), again_s=0.05)
    store = StreamStore(JetStream(connection), "RUNS", presence)
    await store.bind()
    return store


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(running_broker(tmp_path, jetstream=True))
        caller = await stack.enter_async_context(connected(broker, name="caller"))
        await provision(JetStream(caller), stream_wish("RUNS", replicas=1))
        found = Office(broker, caller, await opened(caller, Runs()), start, stack)
        yield found
        await found.stop()
