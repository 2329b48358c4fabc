"""A channel that a test drives by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from fisk_ai.serving.contract import ChannelDoneError, Outcome, Work


class HandChannel:
    """Produces what it is given and keeps the outcomes."""

    def __init__(self, name: str = "hand", slots: int = 1) -> None:
        self.name = name
        self.slots = slots
        self.outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        self.closed = 0
        self.failure: Exception | None = None
        self._works: asyncio.Queue[Work | Exception] = asyncio.Queue()
        self._fault: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self.asked = 0

    def put(self, work_id: str) -> Work:
        work = Work(id=work_id, done=self.outcomes.put)
        self._works.put_nowait(work)
        return work

    def put_work(self, work: Work) -> None:
        self._works.put_nowait(work)

    def put_error(self, error: Exception) -> None:
        self._works.put_nowait(error)

    def break_down(self, error: Exception) -> None:
        self._fault.set_result(error)

    def concurrency(self) -> int:
        return self.slots

    async def next(self) -> Work:
        self.asked += 1
        item = await self._works.get()
        if isinstance(item, Exception):
            raise item
        return item

    async def close(self) -> None:
        self.closed += 1
        if self.failure is not None:
            raise self.failure
        self._works.put_nowait(ChannelDoneError("closed"))

    async def fault(self) -> Exception:
        return await self._fault


@pytest.fixture
async def make_channel() -> Callable[..., HandChannel]:
    return HandChannel
