"""Each session backend keeps the promises of the one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.store import Filter
from fisk_ai.testing import session_store


@pytest.mark.parametrize("check", session_store.CHECKS, ids=session_store.name_of)
async def test_the_file_store_keeps_the_contract(
    check: session_store.Check, tmp_path: Path
) -> None:
    store = FileStore(tmp_path / "runs")
    await check(store)
    # No check, whatever it refuses or cuts off, leaves a session that cannot be taken.
    for row in await store.list(Filter()):
        handle = await store.open(row.run_id)
        assert handle.last_seq() == len(await store.records(row.run_id))
        await handle.close()


@pytest.mark.parametrize("check", session_store.CHECKS, ids=session_store.name_of)
async def test_the_stream_store_keeps_the_contract(
    check: session_store.Check, js: JetStream, sessions_stream: str
) -> None:
    store = StreamStore(js, sessions_stream, Presence(js.connection, "agent", again_s=0.0))
    await store.bind()
    await check(store)
    for row in await store.list(Filter()):
        assert row.status == (await store.load(row.run_id)).status
