"""A job followed to its end: told of changes by events, and read again all the same.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Final

from fisk_ai.bus.connection import Connection, Inbound
from fisk_ai.errors import JobError, NoJobError
from fisk_ai.jobs import events, names
from fisk_ai.jobs.events import StateEvent
from fisk_ai.jobs.job import ENDED, Job
from fisk_ai.jobs.store import Entry, JobStore

AGAIN_S: Final = 5.0
"""Events are not guaranteed: a job is read again after this without one."""

EVENTS_LIMIT: Final = 1_000
"""Events that wait for their reader; more are passed over."""


async def follow(
    connection: Connection, store: JobStore, job_id: str, *, again_s: float = AGAIN_S
) -> AsyncGenerator[Job]:
    """Yield a job as it is, and again after each change, until it ended.

    Raises:
        NoJobError: it is not there, or not any more.
        JobError, BusError: it cannot be read.
    """
    changed = asyncio.Event()

    async def heard(inbound: Inbound) -> None:
        del inbound
        changed.set()

    watch = await connection.watch(names.event_subject(job_id), heard)
    try:
        seen, state = 0, ""
        while state not in ENDED:
            changed.clear()
            entry = await _again(store, job_id, seen)
            state = entry.job.state
            if entry.seq != seen:
                seen = entry.seq
                yield entry.job
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(again_s):
                    await changed.wait()
    finally:
        await watch.close()


async def changes(connection: Connection) -> AsyncGenerator[StateEvent]:
    """Yield what is told of all jobs from now on, without end.

    Raises:
        BusError: the connection is gone.
    """
    told: asyncio.Queue[StateEvent] = asyncio.Queue(EVENTS_LIMIT)

    async def heard(inbound: Inbound) -> None:
        with contextlib.suppress(JobError, asyncio.QueueFull):
            told.put_nowait(events.decode(inbound.body))

    watch = await connection.watch(names.EVENT_SUBJECTS, heard)
    try:
        while True:
            yield await told.get()
    finally:
        await watch.close()


async def _again(store: JobStore, job_id: str, seen: int) -> Entry:
    try:
        return await store.load(job_id)
    except NoJobError as exc:
        if not seen:
            raise
        raise NoJobError(
            f"task not found any more: {job_id} was finished and discarded, or is too old",
            key=job_id,
        ) from exc
