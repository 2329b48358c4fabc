"""One queue for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fisk_ai.testing.job_queue import QueueBench, running_queue


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[QueueBench]:
    async with running_queue(tmp_path) as bench:
        yield bench
