"""One item of a queue, from its delivery to what settles it.

Decided here: the record is saved before the item is settled, and whoever finds that the record or
the lease is another's sends nothing more, since the broker would apply it to the present holder.
Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import msgspec

from fisk_ai import faults
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.pulling import NANOSECONDS, Delivery
from fisk_ai.errors import DamagedJobError, FiskError, JobConflictError, NoJobError
from fisk_ai.jobs.admission import Moment, Verdict, judge
from fisk_ai.jobs.backoff import TEN_MINUTES, Backoff
from fisk_ai.jobs.dependencies import Failed, Waiting, look_at_parents
from fisk_ai.jobs.job import ACTIVE, COMPLETE, EXPIRED, RETRY, TERMINATED, UNREACHABLE
from fisk_ai.jobs.queue import Terms, is_too_large
from fisk_ai.jobs.store import Entry, JobStore
from fisk_ai.text import gojson
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.text.gojson import RawJSON
from fisk_ai.text.sanitise import for_terminal

WAIT_S: Final = 5.0
"""After which a job that waits for others is looked at again."""

ERROR_LIMIT: Final = 2_000
"""Code points of the one line that says why a try failed."""

_log = logging.getLogger("fisk_ai.jobs")


class TerminateJobError(FiskError):
    """The handler says that the job must not be tried again; the text becomes its ``last_err``."""

    code = "job_terminated"

    def __init__(self, reason: str) -> None:
        """Begin the text as the engine does."""
        super().__init__(f"terminate task: {reason}")


class RetryJobError(FiskError):
    """The handler says that the job is to be tried again later."""

    code = "job_retried"


class LeaseOverError(FiskError):
    """The handler stopped because the lease is over: nothing may be said of the job any more."""

    code = "lease_over"


class Answer(Protocol):
    """What a handler made of a job."""

    def payload(self) -> RawJSON:
        """Return the JSON that is stored as the job's result."""
        ...

    def payload_instead(self, error: Exception) -> RawJSON:
        """Return what is stored in its place: ``error`` says that it is too large."""
        ...


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a job: its record, its lease, and how often its item was delivered, this included.

    ``began`` is when, as RFC 3339. ``settled`` is set once nothing more is said of it here.
    """

    entry: Entry
    lease: Lease
    deliveries: int
    began: str
    settled: asyncio.Event = field(default_factory=asyncio.Event)


Handler = Callable[[Try], Awaitable[Answer]]
"""Does a job, or raises :class:`TerminateJobError`, :class:`RetryJobError`,
:class:`LeaseOverError`."""


class Processing:
    """Handles the items of one queue, by the type of their jobs."""

    def __init__(
        self,
        connection: Connection,
        store: JobStore,
        terms: Terms,
        handlers: Mapping[str, Handler],
        *,
        backoff: Backoff = TEN_MINUTES,
    ) -> None:
        self._connection = connection
        self._store = store
        self._terms = terms
        self._handlers = handlers
        self._backoff = backoff

    async def process(self, delivery: Delivery) -> None:
        """Do what an item asks for; never raises but for a cancellation of this task."""
        async with Lease(self._connection, delivery, length_s=self._terms.run_time_s) as lease:
            try:
                await self._process(delivery, lease)
            except (FiskError, ValueError) as exc:
                # Nothing is settled: the item is delivered again when its lease is over.
                _log.warning("an item of queue %s is left alone: %s", self._terms.queue, exc)
            except Exception:  # noqa: BLE001 - a bug with one item must not end the queue
                _log.exception("an item of queue %s could not be processed", self._terms.queue)

    async def hand_back(self, delivery: Delivery) -> None:
        """Let others have an item that nobody began; never raises."""
        async with Lease(self._connection, delivery, length_s=self._terms.run_time_s) as lease:
            await lease.hand_back()

    async def _process(self, delivery: Delivery, lease: Lease) -> None:
        # Before the record is read: whoever meets the item as soon as its lease is over must find
        # that this try is over, too.
        began = rfc3339_now()
        job_id = item_of(delivery.message.body)
        if not job_id:
            await lease.terminate()
            return
        try:
            entry = await self._store.load(job_id)
        except NoJobError:
            await lease.terminate()
            return
        except DamagedJobError as exc:
            # Left alone it would keep one of the places of the whole fleet, try after try.
            _log.error("an item of queue %s is dropped: %s", self._terms.queue, exc)
            await lease.terminate()
            return
        moment = Moment(time.time_ns(), int(self._terms.run_time_s * NANOSECONDS))
        verdict = judge(entry.job, moment)
        tried = Try(entry, lease, delivery.place.deliveries, began)
        if verdict is Verdict.PARENTS:
            await self._after_parents(tried)
        elif verdict is Verdict.RUN:
            await self._run(tried)
        elif verdict is Verdict.DONE:
            await lease.ack()
        elif verdict is Verdict.EXPIRE:
            await self._store.save(entry, state=EXPIRED)

    async def _after_parents(self, tried: Try) -> None:
        parents = await look_at_parents(self._store, tried.entry.job)
        if isinstance(parents, Waiting):
            await tried.lease.hand_back(delay_s=WAIT_S)
        elif isinstance(parents, Failed):
            await tried.lease.terminate()
            await self._store.save(
                tried.entry, state=UNREACHABLE, tried=rfc3339_now(), last_err=parents.reason
            )
        else:
            await self._run(tried, dependency_results=parents.results)

    async def _run(self, tried: Try, **changes: object) -> None:
        changes = {name: value for name, value in changes.items() if value is not None}
        active = await self._store.save(
            tried.entry, state=ACTIVE, tried=tried.began, last_err="", **changes
        )
        # This try reaches the record with the save that ends it; a killed worker leaves no count.
        counted = replace(active.job, tries=active.job.tries + 1)
        begun = replace(tried, entry=Entry(counted, active.seq))
        try:
            await self._handle(begun)
        finally:
            begun.settled.set()

    async def _handle(self, begun: Try) -> None:
        job = begun.entry.job
        faults.point(faults.Point.JOB_ACTIVE)
        try:
            answer = await self._handler(job.type)(begun)
        except LeaseOverError as exc:
            _log.warning("job %s: %s", job.id, exc)
        except TerminateJobError as exc:
            if await self._saved(begun, state=TERMINATED, last_err=_line(exc)):
                await begun.lease.terminate()
        except FiskError as exc:
            await self._try_again(begun, _line(exc))
        except Exception:  # noqa: BLE001 - whatever it is, another try may do
            _log.exception("the handler of job %s failed", job.id)
            await self._try_again(begun, "the handler failed; the log of the worker says how")
        else:
            await self._complete(begun, answer)

    async def _complete(self, tried: Try, answer: Answer) -> None:
        faults.point(faults.Point.JOB_ANSWERED)
        try:
            stored = await self._saved(tried, **_ended(answer.payload()))
        except FiskError as exc:
            if not is_too_large(exc):
                raise
            stored = await self._saved(tried, **_ended(answer.payload_instead(exc)))
        faults.point(faults.Point.JOB_STORED)
        if stored:
            await tried.lease.ack()

    async def _try_again(self, tried: Try, reason: str) -> None:
        job, terms = tried.entry.job, self._terms
        is_last = job.tries == terms.max_tries and job.queue == terms.queue
        if await self._saved(tried, state=EXPIRED if is_last else RETRY, last_err=reason):
            delay_s = self._backoff.delay_s(tried.deliveries)
            await tried.lease.hand_back(delay_s=delay_s)

    async def _saved(self, tried: Try, **changes: object) -> bool:
        """Save how a try ended, unless its lease is over; whether that was done.

        Raises:
            MessageTooLargeError, BusError: it was not, or perhaps not.
        """
        if tried.lease.lost.is_set():
            return False
        try:
            await self._store.save(tried.entry, tried=rfc3339_now(), **changes)
        except JobConflictError as exc:
            _log.warning("%s; nothing more is said of it here", exc)
            tried.lease.give_up()
            return False
        return True

    def _handler(self, job_type: str) -> Handler:
        """Return what does jobs of a type: its own handler, else of the longest prefix."""
        fitting = [each for each in self._handlers if job_type.startswith(each)]
        if not fitting:
            raise RetryJobError(f'no handler for task type "{job_type}"')
        return self._handlers[max(fitting, key=len)]


class _Item(msgspec.Struct):
    job: str | None = None


def item_of(body: bytes) -> str:
    """Return the job that an item names, empty where it names none."""
    try:
        return msgspec.json.decode(body, type=_Item).job or ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _ended(payload: RawJSON) -> dict[str, object]:
    result = gojson.dumps({"payload": payload, "completed": rfc3339_now()})
    return {"state": COMPLETE, "last_err": "", "result": RawJSON(result)}


def _line(error: Exception) -> str:
    return for_terminal(str(error), ERROR_LIMIT)
