"""One work queue at a real broker: jobs put into it, its items taken and processed one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.pulling import NANOSECONDS, Delivery, Pull, open_pull
from fisk_ai.bus.wishes import ConsumerWish, Wish
from fisk_ai.jobs import names, provisioning
from fisk_ai.jobs.backoff import Backoff
from fisk_ai.jobs.job import Job
from fisk_ai.jobs.processing import Handler, Processing, Try
from fisk_ai.jobs.queue import join
from fisk_ai.jobs.store import Entry, JobStore
from fisk_ai.testing.broker import provision, running_streams
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.text.gojson import RawJSON

QUEUE = "FISK_AI"
TYPE = "fisk-ai:run"

AT_ONCE = Backoff(steps=1, least_s=0.0, most_s=0.0, jitter=0.0)
"""No wait between two tries."""


class _Consumer(msgspec.Struct):
    num_ack_pending: int
    num_redelivered: int


class _Configured(msgspec.Struct):
    config: dict[str, object]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that a test gives; ``short`` is what it says where that is too large."""

    json: bytes = b'"done"'
    short: bytes = b'"too large"'

    def payload(self) -> RawJSON:
        """Return the answer."""
        return RawJSON(self.json)

    def payload_instead(self, error: Exception) -> RawJSON:
        """Return the short one."""
        del error
        return RawJSON(self.short)


@dataclass(slots=True)
class QueueBench:
    """The queue of a test."""

    js: JetStream
    store: JobStore
    tries: list[Try] = field(default_factory=list[Try])

    async def put(self, **members: object) -> Job:
        """Store and queue a job; ``state`` is written behind that."""
        job = Job(id="one", type=TYPE, payload=b"{}", created=rfc3339_now())
        state = members.pop("state", None)
        job = replace(job, **members)  # pyright: ignore[reportArgumentType] - fields of a job
        entry = await self.store.enqueue(Entry(job), QUEUE)
        if state is not None:
            entry = await self.store.save(entry, state=state)
        return entry.job

    async def keep(self, job: Job) -> None:
        """Store a job that is in no queue."""
        await self.store.save(Entry(job))

    async def job(self, job_id: str = "one") -> Job:
        """Return a job as it is stored."""
        return (await self.store.load(job_id)).job

    async def items(self) -> int:
        """Return how many items the queue holds."""
        return (await self.js.stream(names.queue_stream(QUEUE))).messages

    async def is_empty(self) -> bool:
        """Say whether the queue holds no item."""
        return not await self.items()

    async def pending(self) -> int:
        """Return how many items are leased."""
        place = f"{names.queue_stream(QUEUE)}.{names.CONSUMER}"
        return (await self.js.api(f"CONSUMER.INFO.{place}", {}, _Consumer)).num_ack_pending

    async def change(self, stream: str, **properties: object) -> None:
        """Change properties of a stream, as an operator does."""
        found = await self.js.api(f"STREAM.INFO.{stream}", {}, _Configured)
        await self.js.api(f"STREAM.UPDATE.{stream}", {**found.config, **properties}, msgspec.Raw)

    async def reconfigure(self, properties: Mapping[str, object]) -> None:
        """Change properties of the queue's consumer, as an operator does."""
        stream = names.queue_stream(QUEUE)
        place = f"{stream}.{names.CONSUMER}"
        found = await self.js.api(f"CONSUMER.INFO.{place}", {}, _Configured)
        asked = {"stream_name": stream, "config": {**found.config, **properties}}
        await self.js.api(f"CONSUMER.DURABLE.CREATE.{place}", asked, msgspec.Raw)

    async def pull(self) -> Pull:
        """Return a way to ask for items."""
        subject = f"CONSUMER.MSG.NEXT.{names.queue_stream(QUEUE)}.{names.CONSUMER}"
        return await open_pull(self.js.connection, self.js.subject(subject))

    async def deliver(self, *, within_s: float = 5.0) -> Delivery | None:
        """Ask for one item."""
        pull = await self.pull()
        await pull.ask(1, expires_s=within_s)
        try:
            return await pull.next(within_s + 1.0)
        finally:
            await pull.close()

    async def processing(
        self, handler: Handler | None = None, *, backoff: Backoff = AT_ONCE, job_type: str = TYPE
    ) -> Processing:
        """Return what processes items; every try is kept in ``tries``."""

        async def done(tried: Try) -> Said:
            del tried
            return Said()

        async def handle(tried: Try) -> object:
            self.tries.append(tried)
            return await (handler or done)(tried)

        handlers: Mapping[str, Handler] = {job_type: handle}  # pyright: ignore[reportAssignmentType] - it gives what the handler gives
        terms = await join(self.js, QUEUE)
        return Processing(self.js.connection, self.store, terms, handlers, backoff=backoff)

    async def process(
        self, handler: Handler | None = None, *, backoff: Backoff = AT_ONCE, job_type: str = TYPE
    ) -> None:
        """Process one item, which has to be there."""
        processing = await self.processing(handler, backoff=backoff, job_type=job_type)
        delivery = await self.deliver()
        assert delivery is not None
        await processing.process(delivery)


def wishes(*, run_time_s: float = 60.0, tries: int = 10) -> list[Wish]:
    """Return what the queue needs, with a run time and a number of deliveries of the test's."""
    changes = {"ack_wait": int(run_time_s * NANOSECONDS), "max_deliver": tries}
    return [
        replace(wish, config={**wish.config, **changes}) if isinstance(wish, ConsumerWish) else wish
        for wish in provisioning.wishes(QUEUE, replicas=1)
    ]


@asynccontextmanager
async def running_queue(
    directory: Path, *, run_time_s: float = 60.0, tries: int = 10
) -> AsyncGenerator[QueueBench]:
    """Run a broker with the queue for the length of the block."""
    async with running_streams(directory) as js:
        await provision(js, *wishes(run_time_s=run_time_s, tries=tries))
        yield QueueBench(js, JobStore(js))
