"""The end of one piece of work: however the run went, there is one outcome, reported once.

Decided here: an exception of a run never reaches the server, and a channel that hangs or fails
while it is told holds no slot for longer than its bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from fisk_ai.serving.contract import DONE_TIMEOUT_S, Outcome, Work
from fisk_ai.serving.log import get_logger

Runner = Callable[[Work], Awaitable[Outcome]]
"""Does one piece of work; built by :mod:`fisk_ai.serving.runner`."""

_log = get_logger("fisk_ai.serving")


async def outcome_of(work: Work, runner: Runner) -> Outcome:
    """Run ``work`` and return how it ended; never raises but for a cancellation of this task."""
    try:
        return await runner(work)
    except (Exception, SystemExit, KeyboardInterrupt):  # noqa: BLE001 - the worker lives on
        _log.exception("a run crashed", work=work.id)
        return Outcome(id=work.id, crashed=True)


async def finished(run: asyncio.Task[Outcome], work: Work) -> Outcome:
    """Wait for ``run``, which is stopped when the work is lost, and return its outcome."""
    lost = asyncio.create_task(work.lost.wait())
    try:
        await asyncio.wait({run, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            run.cancel()
            await asyncio.wait({run})
    finally:
        lost.cancel()
    if run.cancelled():
        return Outcome(id=work.id, canceled=True)
    return run.result()


async def report(work: Work, outcome: Outcome) -> None:
    """Tell the channel, within 30 seconds of its own; what goes wrong there is logged."""
    try:
        async with asyncio.timeout(DONE_TIMEOUT_S):
            await work.done(outcome)
    except TimeoutError:
        _log.error("a channel did not take an outcome in time", work=work.id)
    except Exception:  # noqa: BLE001 - a channel's failure must not keep its slot
        _log.exception("a channel failed to take an outcome", work=work.id)


def hard_stopped(outcome: Outcome) -> Outcome:
    """Mark an outcome without a reason as stopped by us; one that was reached stays as it is."""
    return outcome if outcome.reason is not None else replace(outcome, canceled=True)
