"""An agent that works on a queue in this process, with sessions at the broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_worker.channels.jobs import JobsChannel
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.jobs.store import JobStore
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.broker import connected, provision, running_broker
from fisk_ai.testing.job_queue import QueueBench, wishes
from fisk_ai.testing.jobs import JobBench


@dataclass(slots=True)
class Dialed:
    """Lends the connection of a test in place of one that is dialed."""

    js: JetStream

    async def queues(self, context: str) -> JetStream:
        del context
        return self.js


async def start_channel(config: Config, js: JetStream) -> JobsChannel:
    block = config.expose.agent.jobs
    assert block is not None
    channel = JobsChannel(config.identity, block, Dialed(js))
    await channel.start()
    return channel


@pytest.fixture
async def queue_broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "broker", jetstream=True) as broker:
        yield broker


@pytest.fixture
async def bench(queue_broker: Broker) -> AsyncIterator[JobBench]:
    async with connected(queue_broker) as connection:
        js = JetStream(connection)
        await provision(js, stream_wish("RUNS", replicas=1), *wishes())
        runs = StreamStore(js, "RUNS", Presence(connection, "billing", again_s=0.05))
        await runs.bind()
        found = JobBench(QueueBench(js, JobStore(js)), runs, start_channel)
        yield found
        await found.stop()
