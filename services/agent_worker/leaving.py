"""The end of the process: code of tools and hooks cannot call it early, and cannot put it off.

The interpreter waits for every thread, and an event loop for every task that was cancelled. Code
that takes no notice of either would keep a worker alive that has told every outcome.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import NoReturn

from agent_worker.ready import ReadyLine
from fisk_ai.serving.log import get_logger

LEFTOVER_S = 1.0
"""How long tasks and threads may take to end once everything was told and closed: a person may wait
for it, and whoever takes notice of being cancelled had time for that before."""

_STOPS = (SystemExit, KeyboardInterrupt, RuntimeError)
"""How a loop ends before its time; the last says that it was stopped while the work goes on."""

_log = get_logger("agent_worker")


def leave(code: int) -> NoReturn:
    """End the process now; what was logged is written, and nothing else is waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, broken, or not there at all
            stream.flush()
    os._exit(code)


class Leaving:
    """Bounds what comes after the last word of a worker."""

    def __init__(self) -> None:
        """Note the threads that are there before the worker is."""
        self._before = set(threading.enumerate())
        self._is_over = threading.Event()

    def begin(self, code: int) -> None:
        """Have the process end with ``code`` in :data:`LEFTOVER_S`, whatever still runs."""
        bound = threading.Thread(target=self._bound, args=(code,), name="leaving", daemon=True)
        self._before.add(bound)
        bound.start()

    def end(self) -> None:
        """Call that off, but for threads that the interpreter would wait for."""
        started = set(threading.enumerate()) - self._before
        if all(thread.daemon for thread in started):
            self._is_over.set()

    def _bound(self, code: int) -> None:
        if not self._is_over.wait(LEFTOVER_S):
            _log.warning("code of a tool or a hook does not end; leaving it")
            leave(code)


def run_to_the_end(
    runner: asyncio.Runner, work: Coroutine[object, object, int], ready: ReadyLine
) -> int:
    """Run ``work`` and return what it returns, past exits that are not its own.

    A task that raises ``SystemExit`` stops the event loop of everybody, and so does whoever calls
    its ``stop``. While the worker serves, that is a tool or a hook, or a task that one began, and
    only whoever waits for it is told.
    """
    began: list[asyncio.Task[int]] = []

    async def noted() -> int:
        began.append(asyncio.ensure_future(work))
        return await began[0]

    try:
        return runner.run(noted())
    except _STOPS as exc:
        _require_stray(exc, began, ready)
    while True:
        try:
            return runner.get_loop().run_until_complete(began[0])
        except _STOPS as exc:
            _require_stray(exc, began, ready)


def _require_stray(exc: BaseException, began: list[asyncio.Task[int]], ready: ReadyLine) -> None:
    """Log an end that is not the worker's own; raise one that is."""
    if not ready.is_serving or not began or began[0].done() or began[0].get_loop().is_closed():
        raise exc
    _log.error("a task of a tool or a hook tried to end the process", error=type(exc).__name__)
