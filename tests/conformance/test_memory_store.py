"""Each memory backend keeps the promises of the one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.memory.bucket_option import BucketOption
from fisk_ai.memory.file import FileMemory
from fisk_ai.memory.jetstream import BucketMemory
from fisk_ai.testing import memory_store
from fisk_ai.testing.memory_store import Bench


@pytest.mark.parametrize("check", memory_store.CHECKS, ids=memory_store.name_of)
async def test_the_file_store_keeps_the_contract(check: memory_store.Check, tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    await check(Bench(open=lambda: FileMemory(directory)))
    # No check leaves behind a file that is no memory.
    assert [path for path in directory.glob("*") if path.suffix != ".md"] == []


@pytest.mark.parametrize("prefix", ["", "agent."], ids=["flat", "prefixed"])
@pytest.mark.parametrize("check", memory_store.CHECKS, ids=memory_store.name_of)
async def test_the_bucket_store_keeps_the_contract(
    check: memory_store.Check, prefix: str, js: JetStream, memory_bucket: str
) -> None:
    option = BucketOption(memory_bucket, prefix, reads_before_update=True)
    await check(Bench(open=lambda: BucketMemory(js, option), reads_before_update=True))
