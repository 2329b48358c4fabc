"""Running a short asynchronous command: the first interrupt cancels it, the second kills."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_one_shot(work: Coroutine[object, object, _T]) -> _T:
    """Run ``work`` to its end.

    Raises:
        KeyboardInterrupt: a signal cancelled it; whatever it had opened was closed.
    """
    return asyncio.run(_interruptible(work))


async def _interruptible(work: Coroutine[object, object, _T]) -> _T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)

    def interrupt() -> None:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        task.cancel()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for number, effect in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, effect)
