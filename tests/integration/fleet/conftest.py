"""Two workers of one agent whose sessions and memories are kept at a broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import connected, provision, running_broker
from fisk_ai.testing.workshop import Types, Workshop, typing_in

CONFIG = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{prompts: {{}}}}}}}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
  memory: {{enabled: true, backend: jetstream, options: {{bucket: MEM}}}}
"""


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "broker", jetstream=True) as running:
        yield running


@pytest.fixture
async def caller(broker: Broker) -> AsyncIterator[Connection]:
    async with connected(broker, name="caller") as connection:
        yield connection


@pytest.fixture
async def js(caller: Connection) -> JetStream:
    made = JetStream(caller)
    await provision(made, stream_wish("RUNS", replicas=1))
    await provision(made, bucket_wish("MEM", replicas=1))
    return made


@pytest.fixture
async def runs(js: JetStream) -> StreamStore:
    store = StreamStore(js, "RUNS", Presence(js.connection, "watchman"))
    await store.bind()
    return store


@pytest.fixture
async def fleet(broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes, none failed\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    shop = Workshop(directory, broker.url_with_credentials, application, state="")
    shop.write("agent.yaml", CONFIG.format(application=application.path))
    yield shop
    shop.gate.touch()
    await shop.close()


@pytest.fixture
def fleet_types(fleet: Workshop) -> Types:
    return typing_in(fleet.directory)
