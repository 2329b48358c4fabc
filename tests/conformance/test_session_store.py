"""Each session backend keeps the promises of the one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.sessions.file import FileStore
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
