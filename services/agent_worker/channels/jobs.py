"""The channel of a work queue: takes jobs, runs each in a session of its own, stores the answer.

Decided here: in which order a job is checked, handed over and ended. What a record and an item go
through is the engine's, in :mod:`fisk_ai.jobs`. Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from agent_worker.channels.hand_over import HandOver
from agent_worker.channels.job_endings import Asked, JobAnswer, answer_of
from agent_worker.channels.job_requests import request_of, work_of
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config.expose import Jobs
from fisk_ai.errors import (
    AbsentError,
    BusError,
    FiskError,
    JobError,
    NoQueueError,
    SetupError,
)
from fisk_ai.jobs.processing import LeaseOverError, Processing, RetryJobError, Try
from fisk_ai.jobs.processor import Processor
from fisk_ai.jobs.queue import Items, join, open_items
from fisk_ai.jobs.store import JobStore
from fisk_ai.serving.contract import Outcome, Work
from fisk_ai.serving.log import get_logger
from fisk_ai.sessions.ids import session_id_for_job
from fisk_ai.toolkit.prompter import absent

LEAST_RUN_TIME_S = 20.0
"""A shorter lease leaves too little of it to end a run that lost it."""

_log = get_logger("agent_worker.jobs")


class Queues(Protocol):
    """Dials the broker of a queue; whoever gives it closes the connection."""

    async def queues(self, context: str) -> JetStream:
        """Return its streams, over a connection of their own.

        Raises:
            ConfigError, SetupError: the context cannot be used, or the broker not be reached.
        """
        ...


class JobsChannel:
    """Works on one queue; a channel that is concurrent, releasable and faulting."""

    def __init__(self, identity: str, jobs: Jobs, storage: Queues) -> None:
        """Use the queue that the block ``jobs`` names, once :meth:`start` found it."""
        self._identity = identity
        self._queue = jobs.queue
        self._task_type = jobs.task_type
        self._workers = jobs.workers
        self._max_payload = jobs.max_payload
        self._context = jobs.nats_context
        self._prompter = absent(jobs.approvals)
        self._storage = storage
        self._hand_over = HandOver()
        self._closing = False
        self._js: JetStream | None = None
        self._items: Items | None = None
        self._processor: Processor | None = None

    @property
    def name(self) -> str:
        """The label in logs."""
        return f"asyncjobs/{self._queue}"

    def concurrency(self) -> int:
        """Return the number of jobs run at once."""
        return self._workers

    async def start(self) -> None:
        """Connect and look at the queue; nothing is taken before the first :meth:`next`.

        Raises:
            AbsentError: the queue, or what belongs to it, is not there.
            ConfigError, SetupError: the broker is not there, or one of them cannot be used.
        """
        js = await self._storage.queues(self._context)
        queue = self._queue
        try:
            terms = await join(js, queue)
            items = await open_items(js, queue)
        except (JobError, BusError) as exc:
            refused = AbsentError if isinstance(exc, NoQueueError) else SetupError
            raise refused(
                f'building the jobs endpoint: connecting to queue "{queue}": {exc}',
                key="expose.agent.jobs.queue",
            ) from exc
        if terms.run_time_s < LEAST_RUN_TIME_S:
            _log.warning(
                "the run time of the queue is short: a run that loses its lease may still be ending"
                " when another worker begins",
                queue=queue,
                run_time_s=terms.run_time_s,
                least_s=LEAST_RUN_TIME_S,
            )
        handlers = {self._task_type: self._handle}
        processing = Processing(js.connection, JobStore(js), terms, handlers)
        self._js = js
        self._items = items
        self._processor = Processor(items, processing, units=self._workers)

    async def next(self) -> Work:
        """Wait for a job.

        Raises:
            ChannelDoneError: the channel was closed.
        """
        if self._processor is not None and not self._closing:
            self._processor.start()
        return await self._hand_over.take()

    async def close(self) -> None:
        """Take no more jobs; those that run go on, and are settled when they end."""
        if self._closing:
            return
        self._closing = True
        self._hand_over.close()
        if self._processor is not None:
            await self._processor.stop()

    def unready(self) -> str:
        """Return why no job is taken for now; empty while they are."""
        return self._items.fault if self._items is not None else ""

    async def fault(self) -> Exception:
        """Wait for the end of the connection, or of the loop over the queue."""
        if self._js is None or self._processor is None:
            raise SetupError("the jobs channel was not started before it was served")
        broken = asyncio.create_task(self._js.connection.fault())
        ended = asyncio.create_task(self._processor.ended())
        try:
            await asyncio.wait({broken, ended}, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                return broken.result()
            return FiskError("the loop over the queue ended")
        finally:
            broken.cancel()
            ended.cancel()

    async def _handle(self, tried: Try) -> JobAnswer:
        job = tried.entry.job
        request = request_of(job, max_payload=self._max_payload)
        asked = Asked(request, self._identity, session_id_for_job(self._identity, job.id))
        ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        async def done(outcome: Outcome) -> None:
            # The work counts as done once its job is settled, so that no drain outruns it.
            if not ended.done():
                ended.set_result(outcome)
            await tried.settled.wait()

        work = work_of(
            job,
            request,
            asked.session,
            done=done,
            prompter=self._prompter,
            lost=tried.lease.lost,
            again=tried.deliveries > 1,
        )
        if not await self._hand_over.give(work) and not work.lost.is_set():
            raise RetryJobError("the worker is shutting down")
        await _unless_lost(ended, work.lost)
        if work.lost.is_set():
            raise LeaseOverError("its lease is over; another worker goes on with it")
        return answer_of(ended.result(), asked)


async def _unless_lost(ended: asyncio.Future[Outcome], lost: asyncio.Event) -> None:
    losing = asyncio.create_task(lost.wait())
    try:
        await asyncio.wait({ended, losing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        losing.cancel()
