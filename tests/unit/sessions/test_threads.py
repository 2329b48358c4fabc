from __future__ import annotations

import asyncio
import threading

import pytest

from fisk_ai.sessions.threads import settled


async def test_work_gives_its_result_or_its_error() -> None:
    assert await settled(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await settled(lambda: 1 // 0)


async def test_work_is_waited_for_however_often_its_caller_is_cancelled() -> None:
    begun, go_on = threading.Event(), threading.Event()
    undone: list[str] = []

    def work() -> str:
        begun.set()
        go_on.wait(10)
        return "done"

    task = asyncio.ensure_future(settled(work, undo=undone.append))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(3):
        task.cancel()
        await asyncio.wait({task}, timeout=0.01)
        assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert undone == ["done"]


async def test_the_error_of_work_whose_caller_was_cancelled_is_nobodys() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(10)
        raise OSError("no")

    task = asyncio.ensure_future(settled(work, undo=lambda _: None))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    await asyncio.wait({task}, timeout=0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
