"""An agent that serves prompts in this process, over a real broker, with a model of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_worker.channels.prompts import PromptsChannel
from agent_worker.endpoints.card import CardEndpoint
from fisk_ai.a2a.cards import build_card
from fisk_ai.bus.connection import Connection
from fisk_ai.config import Config
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.prompts import Bench


async def start_intake(
    config: Config, connection: Connection, store: FileStore, *, keepalive_s: float
) -> PromptsChannel:
    service = await connection.service("billing")
    await CardEndpoint(build_card(config, version="1.2")).start(service)
    channel = PromptsChannel(config, connection, service, store, keepalive_s=keepalive_s)
    await channel.start()
    return channel


@pytest.fixture
async def bench(worker: Connection, caller: Connection, tmp_path: Path) -> AsyncIterator[Bench]:
    found = Bench(worker, caller, FileStore(tmp_path / "runs"), start_intake)
    yield found
    await found.stop()
