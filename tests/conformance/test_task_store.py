"""Each task backend keeps the promises of the one contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.tasks.file import FileTasks
from fisk_ai.tasks.jetstream import BucketTasks
from fisk_ai.testing import task_store


@pytest.mark.parametrize("check", task_store.CHECKS, ids=task_store.name_of)
async def test_the_file_store_keeps_the_contract(check: task_store.Check, tmp_path: Path) -> None:
    directory = tmp_path / "tasks"
    await check(FileTasks(directory))
    # No check, whatever it refuses, leaves anything but whole tasks behind.
    assert all(path.suffix == ".json" for path in directory.glob("*"))


@pytest.mark.integration
@pytest.mark.parametrize("check", task_store.CHECKS, ids=task_store.name_of)
async def test_the_bucket_store_keeps_the_contract(
    check: task_store.Check, js: JetStream, task_bucket: str
) -> None:
    store = BucketTasks(js, task_bucket)
    await store.bind()
    await check(store)
