"""A broker with streams, and how a stream for sessions is made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.testing.broker import connected, running_broker


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with (
        running_broker(tmp_path / "broker", jetstream=True) as broker,
        connected(broker) as c,
    ):
        yield JetStream(c)


@pytest.fixture
async def sessions_stream(js: JetStream) -> str:
    config = {
        "name": "FISK_SESSIONS",
        "subjects": ["fisk.sessions.>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "discard_new_per_subject": True,
    }
    await js.api("STREAM.CREATE.FISK_SESSIONS", config, msgspec.Raw)
    return "FISK_SESSIONS"


@pytest.fixture
async def memory_bucket(js: JetStream) -> str:
    config = {
        "name": "KV_FISK_MEMORY",
        "subjects": ["$KV.FISK_MEMORY.>"],
        "max_msgs_per_subject": 1,
    }
    await js.api("STREAM.CREATE.KV_FISK_MEMORY", config, msgspec.Raw)
    return "FISK_MEMORY"
