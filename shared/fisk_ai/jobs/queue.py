"""A queue that exists already: its terms, read from its consumer, and one item at a time.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

import msgspec

from fisk_ai.bus.jetstream import NO_CONSUMER, NO_STREAM, JetStream
from fisk_ai.bus.pulling import NANOSECONDS, Delivery, Pull, open_pull
from fisk_ai.errors import BusError, JobError, MessageTooLargeError, NoQueueError, StreamError
from fisk_ai.jobs import names
from fisk_ai.jobs.store import MISSING

_log = logging.getLogger("fisk_ai.jobs")

POLL_S: Final = 60.0
"""How long one request for an item stands at the broker."""

SLACK_S: Final = 2.0
"""How much longer its end is waited for: the broker says that it is over."""

PAUSE_S: Final = 0.25
"""After a request that ended at once: a consumer that was deleted must not have us spin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the consumer of a queue says; the operator's numbers count before any of ours.

    ``run_time_s`` is the lease of an item, ``concurrency`` bounds the whole fleet, ``max_tries``
    below 1 is no bound.
    """

    queue: str
    run_time_s: float
    concurrency: int
    max_tries: int


class _Config(msgspec.Struct):
    ack_wait: int = 0
    max_ack_pending: int = 0
    max_deliver: int = -1


class _Consumer(msgspec.Struct):
    config: _Config


async def join(js: JetStream, queue: str) -> Terms:
    """Look at the storage of ``queue`` and return its terms; nothing is made.

    Raises:
        NoQueueError: the queue, its consumer or the stream of jobs is not there.
        JobError: the queue names no run time.
        BusError: the broker cannot be asked.
    """
    await _require(js, names.JOBS_STREAM, NoQueueError(MISSING))
    await _require(js, names.queue_stream(queue), _absent("queue not found", queue))
    config = (await _consumer(js, queue)).config
    if config.ack_wait <= 0:
        raise JobError(
            f'queue "{queue}" reported no maximum run time, so a lease cannot be renewed against'
            " it; set one on its consumer",
            key=queue,
        )
    return Terms(
        queue=queue,
        run_time_s=config.ack_wait / NANOSECONDS,
        concurrency=config.max_ack_pending,
        max_tries=config.max_deliver,
    )


class Items:
    """The items of one queue, asked for one at a time by one task.

    ``fault`` says why there can be none for now, as where somebody removed the consumer.
    """

    def __init__(self, js: JetStream, queue: str, pull: Pull) -> None:
        """Use ``pull``; see :func:`open_items`."""
        self.fault = ""
        self._js = js
        self._queue = queue
        self._pull = pull

    async def next(self) -> Delivery | None:
        """Ask for an item and return it; ``None`` when there is none yet.

        Raises:
            BusError: the connection was closed.
        """
        if (late := await self._pull.next(0)) is not None:
            return late
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._pull.ask(1, expires_s=POLL_S)
        delivery = await self._pull.next(POLL_S + SLACK_S)
        if delivery is None and loop.time() - began < PAUSE_S:
            await self._look()
            await asyncio.sleep(PAUSE_S)
        else:
            self.fault = ""
        return delivery

    async def _look(self) -> None:
        """Find out why the broker ended a request at once, and say so when that is new."""
        try:
            await join(self._js, self._queue)
        except (JobError, BusError) as exc:
            fault = str(exc)
        else:
            fault = ""
        if fault and fault != self.fault:
            _log.warning("no item of queue %s is taken: %s", self._queue, fault)
        self.fault = fault

    async def close(self) -> list[Delivery]:
        """Ask for no more and return what had come: it is to be handed back."""
        await self._pull.close()
        left: list[Delivery] = []
        try:
            await self._js.connection.flush()
            while (delivery := await self._pull.next(0)) is not None:
                left.append(delivery)
        except BusError:
            pass  # the connection is gone; the broker hands them to others when it notices
        return left


async def open_items(js: JetStream, queue: str) -> Items:
    """Return the items of ``queue``; raises BusError when the connection is gone."""
    subject = js.subject(f"CONSUMER.MSG.NEXT.{names.queue_stream(queue)}.{names.CONSUMER}")
    return Items(js, queue, await open_pull(js.connection, subject))


def is_too_large(error: Exception) -> bool:
    """Say whether a record was refused for its size, by the broker's limit or the stream's."""
    if isinstance(error, MessageTooLargeError):
        return True
    return isinstance(error, StreamError) and error.err_code == _OVER_MESSAGE_SIZE


_OVER_MESSAGE_SIZE: Final = 10054


async def _require(js: JetStream, stream: str, absent: JobError) -> None:
    try:
        await js.stream(stream)
    except StreamError as exc:
        raise (absent if exc.err_code == NO_STREAM else exc) from exc


async def _consumer(js: JetStream, queue: str) -> _Consumer:
    place = f"{names.queue_stream(queue)}.{names.CONSUMER}"
    try:
        return await js.api(f"CONSUMER.INFO.{place}", {}, _Consumer)
    except StreamError as exc:
        if exc.err_code != NO_CONSUMER:
            raise
        raise _absent("queue consumer not found", queue) from exc


def _absent(what: str, queue: str) -> NoQueueError:
    made = f"ajc queue add {queue} --run-time 60s --tries 10"
    return NoQueueError(
        f"{what}; create it with '{made}' or 'fisk-ai provision --apply'", key=queue
    )
