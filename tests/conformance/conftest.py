"""A broker with streams, and the places for sessions and memories as they are provisioned."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.memory.provisioning import bucket_wish
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.broker import provision, running_streams


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as streams:
        yield streams


@pytest.fixture
async def sessions_stream(js: JetStream) -> str:
    await provision(js, stream_wish("FISK_SESSIONS", replicas=1))
    return "FISK_SESSIONS"


@pytest.fixture
async def memory_bucket(js: JetStream) -> str:
    await provision(js, bucket_wish("FISK_MEMORY", replicas=1))
    return "FISK_MEMORY"


@pytest.fixture
async def task_bucket(js: JetStream) -> str:
    """A bucket as the documented command makes one."""
    config = {
        "name": "KV_FISK_TASKS",
        "subjects": ["$KV.FISK_TASKS.>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "allow_rollup_hdrs": True,
        "deny_delete": True,
    }
    await js.api("STREAM.CREATE.KV_FISK_TASKS", config, msgspec.Raw)
    return "FISK_TASKS"
