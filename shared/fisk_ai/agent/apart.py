"""Running code that is not ours, a tool or a hook: in a task of its own and under our rules.

Such code may cancel its own task, try to end the process or take no notice when it is told to end.
None of that may look as if the run had been told to stop, take the worker with it, or hold the run.
Rules: ``docs/reference/agent-loop.md``.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fisk_ai.toolkit.gate import control_error

T = TypeVar("T")

_ENDS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What ends a process; a task that raises one of the first two ends the event loop."""

GRACE_S = 3.0
"""How long code may take to end once it was told to: enough to close what it has open."""

COMMAND_GRACE_S = 12.0
"""The same for what runs another program, whose output may stay open for ten seconds."""

HURRY_S = 1.0
"""What is left to code once there is hurry: enough to send a line to a service that is there."""

_LOOK_S = 0.1
"""How often somebody who waits looks whether there is hurry; a person does not see the delay."""

_log = logging.getLogger(__name__)
_left_behind: set[asyncio.Task[object]] = set()  # held, so that none is collected while it runs


class StrayError(Exception):
    """Foreign code did what no code of a run may do; the text says what, as "it was ...".

    ``words`` are those of what it raised. They are no part of the text, which may reach a peer.
    """

    def __init__(self, text: str, words: str = "") -> None:
        """Note both."""
        super().__init__(text)
        self.words = words

    def in_full(self, result: str = "") -> str:
        """Return the text, what came of it, and the words behind both."""
        return f"{self}{result}" + (f": {self.words}" if self.words else "")


class OutOfTimeError(Exception):
    """Foreign code was stopped at its limit; ``heeded`` is false for one that goes on."""

    def __init__(self, *, heeded: bool) -> None:
        """Note whether it ended."""
        super().__init__("out of time")
        self.heeded = heeded


def said(error: BaseException) -> str:
    """Return the words of an exception of foreign code; its kind where it has none to give."""
    try:
        return str(error) or type(error).__name__
    except BaseException:  # noqa: BLE001 - code of an exception fails like any other foreign code
        return type(error).__name__


async def apart(
    work: Callable[[], Awaitable[T]],
    what: str,
    *,
    limit_s: float | None = None,
    grace_s: float = GRACE_S,
    must_hurry: Callable[[], bool] | None = None,
) -> T:
    """Await what ``work`` returns; ``what`` names it in the log.

    A cancellation of the run is handed on, and so is the limit, which ``must_hurry`` shortens to
    :data:`HURRY_S` from the moment it says so. Code that does not end within
    ``grace_s`` of it is left behind. Code that comes to an end all the same has its say, and the
    run is cancelled at its next step. Context variables that the code set hold from then on.

    Raises:
        OutOfTimeError: it was stopped at its limit and returned nothing.
        StrayError: it was cancelled from within, or raised what is no ``Exception``.
        asyncio.CancelledError: the run was cancelled.
        Exception: whatever ``work`` raises.
    """
    context = contextvars.copy_context()
    task = asyncio.create_task(_contained(work, what), name=what, context=context)
    try:
        await _wait(task, limit_s, must_hurry)
    except asyncio.CancelledError:
        if not await _ended(task, what, grace_s) or task.cancelled():
            raise
        failure = task.exception()
        if failure is None or control_error(failure) is None:
            _cancel_later()  # a deferral parks the run by itself, and is told as what it is
        return task.result()
    if task.done():
        _take_over(context)
        return _result(task)
    heeded = await _ended(task, what, grace_s)
    failure = None if not heeded or task.cancelled() else task.exception()
    if heeded and not task.cancelled() and failure is None:
        return task.result()
    raise OutOfTimeError(heeded=heeded) from failure


async def _wait(
    task: asyncio.Task[T], limit_s: float | None, must_hurry: Callable[[], bool] | None
) -> None:
    """Wait until a task is done or its limit is reached."""
    if must_hurry is None:
        await asyncio.wait({task}, timeout=limit_s)
        return
    ends = time.monotonic() + (math.inf if limit_s is None else limit_s)
    while not task.done() and (left_s := ends - time.monotonic()) > 0:
        if must_hurry():
            ends = min(ends, time.monotonic() + HURRY_S)
            left_s = min(left_s, HURRY_S)
        await asyncio.wait({task}, timeout=min(left_s, _LOOK_S))


async def _contained(work: Callable[[], Awaitable[T]], what: str) -> T:
    # What is no Exception ends the event loop, or passes every handler but the last one of a run.
    try:
        return await work()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as exc:
        stray = _stray(exc)
        _log.warning("%s %s", what, stray, exc_info=exc)
        raise stray from exc


def _stray(error: BaseException) -> StrayError:
    kind = type(error).__name__
    if isinstance(error, _ENDS):
        return StrayError(f"tried to end the process ({kind})")
    return StrayError(f"raised what is no Exception ({kind})", said(error))


def _take_over(context: contextvars.Context) -> None:
    """Set what the code set, as if it had run here: a hook may name a tenant, a tool reads it."""
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)


def _cancel_later() -> None:
    """Deliver the cancellation that was held up again, at the next step of the run."""
    run = asyncio.current_task()
    if run is not None:
        run.uncancel()
        run.cancel()


def _result(task: asyncio.Task[T]) -> T:
    if task.cancelled():
        raise StrayError("was cancelled from within")
    return task.result()


async def _ended(task: asyncio.Task[T], what: str, grace_s: float) -> bool:
    """Tell a task to end and say whether it did in time; one that did not is left behind."""
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace_s)
    finally:
        if task.done():
            _forget(task)
        else:
            _leave(task, what)
    return task.done()


def _leave(task: asyncio.Task[T], what: str) -> None:
    _log.warning("%s does not end although it was cancelled, and is left behind", what)
    _left_behind.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[T]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # seen; nobody waits for it any more
