"""The records of all jobs: one message of a stream for each, written over its former one.

Decided here: a record is only ever written over the one that was read, so that of two who would
change a job one fails and does nothing more. Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from fisk_ai.bus.jetstream import (
    EXPECTED_SEQUENCE,
    FENCED,
    MESSAGE_ID,
    NO_MESSAGE,
    NO_STREAM,
    JetStream,
)
from fisk_ai.bus.stored import Stored
from fisk_ai.bus.stream_reading import Reading, read
from fisk_ai.errors import (
    BusError,
    DamagedJobError,
    JobConflictError,
    JobError,
    NoJobError,
    NoQueueError,
    NoRespondersError,
    StreamError,
)
from fisk_ai.jobs import events, names
from fisk_ai.jobs.job import BLOCKED, NEW, QUEUE_ERROR, RETRY, Job, decode, encode

SAVE_TIMEOUT_S: Final = 5.0
"""Bound of one write or read of a record."""

MISSING: Final = (
    f"storage not ready: stream {names.JOBS_STREAM} does not exist, create it with"
    " 'ajc tasks initialize' or 'fisk-ai provision --apply'"
)

_READY: Final = (NEW, RETRY, BLOCKED)
"""States from which a job may be queued."""

_log = logging.getLogger("fisk_ai.jobs")


@dataclass(frozen=True, slots=True)
class Entry:
    """A job and the number of its record; 0 is one that was never stored."""

    job: Job
    seq: int = 0


class JobStore:
    """Reads and writes the records of jobs, over a connection that is borrowed."""

    def __init__(self, js: JetStream) -> None:
        self._js = js

    async def save(self, entry: Entry, **changes: object) -> Entry:
        """Write a job over the record it was read from, changed so, and tell of it.

        Raises:
            JobConflictError: the record is another by now; nothing was written.
            JobError: there is no stream for jobs; nothing was written.
            MessageTooLargeError: over the broker's limit; nothing was written.
            BusError: it may have been written, or not.
        """
        job = replace(entry.job, **changes)  # pyright: ignore[reportArgumentType] - fields of a job
        fence = {EXPECTED_SEQUENCE: str(entry.seq)}
        subject = names.job_subject(job.id)
        try:
            ack = await self._js.publish(
                subject, encode(job), headers=fence, timeout_s=SAVE_TIMEOUT_S
            )
        except NoRespondersError as exc:
            raise JobError(MISSING) from exc
        except StreamError as exc:
            if exc.err_code not in FENCED:
                raise
            raise JobConflictError(_conflict(entry), key=job.id) from exc
        await self._tell(job)
        return Entry(job, ack.seq)

    async def load(self, job_id: str) -> Entry:
        """Read a job.

        Raises:
            NoJobError: there is none of that id.
            DamagedJobError: its record cannot be read, or is another job's.
            JobError: there is no stream for jobs.
            BusError: the broker cannot be asked.
        """
        if not names.valid_name(job_id):
            raise NoJobError("task not found: that can be no id of one", key=job_id[:128])
        stored = await self._newest(job_id)
        if stored is None:
            raise NoJobError(f"task not found: {job_id}", key=job_id)
        return _entry(stored)

    async def delete(self, job_id: str) -> None:
        """Remove the record of a job; its item is left, and meets no record. Raises as `load`."""
        stored = await self._newest(job_id)
        if stored is None:
            raise NoJobError(f"task not found: {job_id}", key=job_id)
        asked = {"seq": stored.seq, "no_erase": True}
        await self._js.api(f"STREAM.MSG.DELETE.{names.JOBS_STREAM}", asked, msgspec.Raw)

    async def enqueue(self, entry: Entry, queue: str) -> Entry:
        """Save a job as one of ``queue`` and lay its item there.

        Raises:
            NoQueueError: there is no such queue; nothing was written.
            JobError: it is in a state from which nothing is queued, or the item was not taken,
                which the job's state says, too.
            JobConflictError, BusError: as :meth:`save`.
        """
        if entry.job.state not in _READY:
            raise JobError(f'cannot enqueue a task in state "{entry.job.state}"', key=entry.job.id)
        await self._require(queue)
        saved = await self.save(entry, queue=queue)
        refused = await self._lay_item(saved.job)
        if refused is None:
            return saved
        with contextlib.suppress(JobError, BusError):  # a worker may have it all the same
            await self.save(saved, state=QUEUE_ERROR, last_err=str(refused))
        raise refused

    async def retry(self, job_id: str, queue: str) -> Entry:
        """Have a job tried again, in ``queue``, whatever its state; what it counted stays.

        Raises:
            NoJobError, NoQueueError, JobError, JobConflictError, BusError: as named above.
        """
        entry = await self.load(job_id)
        again = replace(entry.job, state=RETRY, result=None)
        return await self.enqueue(Entry(again, entry.seq), queue)

    async def all(self, left_out: list[str]) -> AsyncGenerator[Entry]:
        """Yield every job that can be read, as they were written last; raises as `load`.

        The ids of the others are put into ``left_out``.
        """
        reading = Reading(names.JOBS_STREAM, names.JOB_SUBJECTS)
        try:
            async with aclosing(read(self._js, reading)) as messages:
                async for message in messages:
                    try:
                        entry = _entry(message)
                    except DamagedJobError:
                        left_out.append(names.job_of(message.subject))
                        continue
                    yield entry
        except StreamError as exc:
            raise _missing(exc) from exc

    async def _require(self, queue: str) -> None:
        """Refuse a queue that is not there: a record would be written over for nothing."""
        try:
            await self._js.stream(names.queue_stream(queue), timeout_s=SAVE_TIMEOUT_S)
        except StreamError as exc:
            if exc.err_code != NO_STREAM:
                raise
            raise _no_queue(queue) from exc

    async def _newest(self, job_id: str) -> Stored | None:
        try:
            return await self._js.newest(
                names.JOBS_STREAM, names.job_subject(job_id), timeout_s=SAVE_TIMEOUT_S
            )
        except StreamError as exc:
            raise _missing(exc) from exc

    async def _lay_item(self, job: Job) -> JobError | None:
        """Publish the item of a job; what kept it from being taken, if anything did."""
        item = b'{"kind":0,"job":"' + job.id.encode() + b'"}'
        once = {} if job.state == RETRY else {MESSAGE_ID: job.id}
        try:
            ack = await self._js.publish(
                names.item_subject(job.queue, job.id),
                item,
                headers=once,
                timeout_s=SAVE_TIMEOUT_S,
            )
        except NoRespondersError:
            return _no_queue(job.queue)
        except BusError as exc:
            return JobError(f"the work queue item was not stored: {exc}", key=job.id)
        return JobError("duplicate work queue item", key=job.id) if ack.duplicate else None

    async def _tell(self, job: Job) -> None:
        try:
            await self._js.connection.publish(names.event_subject(job.id), events.encode(job))
        except (BusError, ValueError) as exc:
            _log.debug("the state of job %s was not told: %s", job.id, exc)


def _conflict(entry: Entry) -> str:
    if not entry.seq:
        return f"a task with the id {entry.job.id} exists already; this one was submitted before"
    return f"task {entry.job.id} was changed by somebody else since it was read"


def _missing(error: StreamError) -> BusError | JobError:
    return JobError(MISSING) if error.err_code in (NO_STREAM, NO_MESSAGE) else error


def _no_queue(queue: str) -> NoQueueError:
    return NoQueueError(f"queue not found: {queue}", key=queue)


def _entry(stored: Stored) -> Entry:
    """Read a record, which has to be of the job that its subject names; raises DamagedJobError."""
    job_id = names.job_of(stored.subject)
    try:
        job = decode(stored.body)
    except DamagedJobError as exc:
        raise DamagedJobError(f"task {job_id}: {exc}", key=job_id) from exc
    if job.id != job_id:
        raise DamagedJobError(
            f"task {job_id}: the record of a job cannot be read: it is of another one", key=job_id
        )
    return Entry(job, stored.seq)
