"""What a stream holds on some subjects, in its order and without a gap.

A consumer that nobody else knows hands out what is there when it is made. When it falls silent,
since its server died or a message was lost on the way, another one goes on behind the last message
that was read. Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

import msgspec

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.pulling import NANOSECONDS, Delivery, Pull, open_pull
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import BusError, BusTimeoutError
from fisk_ai.text.clock import rfc3339

PROGRESS_TIMEOUT_S = 5.0
"""Silence after which a consumer counts as gone."""

ATTEMPTS = 3
"""Consumers in a row that may hand out nothing before the reading fails."""

BATCH = 32
"""Messages asked for at a time: of the largest ones no more than an inbox holds."""

IDLE_S = 30
"""After this the broker removes a consumer that its owner could not remove."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read: messages of ``stream`` on ``subject``, all or the newest of each subject."""

    stream: str
    subject: str
    deliver: Literal["all", "last_per_subject"] = "all"
    headers_only: bool = False


class _Made(msgspec.Struct):
    num_pending: int = 0


async def read(js: JetStream, reading: Reading) -> AsyncGenerator[Stored]:
    """Yield what is there now, in the order of the stream.

    Raises:
        StreamError: there is no such stream.
        BusTimeoutError: the broker fell silent :data:`ATTEMPTS` times without a message.
        BusError: the connection is gone.
    """
    silent = last = 0
    while silent < ATTEMPTS:
        before = last
        async with _consumer(js, reading, after=last) as (pull, pending):
            left = pending
            async with aclosing(_drained(pull, pending)) as deliveries:
                async for delivery in deliveries:
                    left = min(left - 1, delivery.place.pending)
                    if delivery.place.seq > last:
                        last = delivery.place.seq
                        yield _stored(delivery)
            if not left:
                return
        silent = 0 if last > before else silent + 1
    raise BusTimeoutError(f'reading "{reading.subject}" of stream {reading.stream} fell silent')


async def _drained(pull: Pull, pending: int) -> AsyncGenerator[Delivery]:
    """Yield up to ``pending`` messages; ends before when one is missing or nothing comes."""
    order = asked = 0
    while order < pending:
        if order == asked:
            await pull.ask(BATCH, expires_s=PROGRESS_TIMEOUT_S)
            asked += BATCH
        delivery = await pull.next(PROGRESS_TIMEOUT_S)
        if delivery is None or delivery.place.order != order + 1:
            return
        order += 1
        pending = min(pending, order + delivery.place.pending)
        yield delivery


@contextlib.asynccontextmanager
async def _consumer(
    js: JetStream, reading: Reading, *, after: int
) -> AsyncGenerator[tuple[Pull, int]]:
    """Make a consumer behind stream sequence ``after``; gives how many messages it has, too."""
    name = secrets.token_hex(8)
    made = await js.api(
        f"CONSUMER.CREATE.{reading.stream}.{name}.{reading.subject}",
        {"stream_name": reading.stream, "config": _config(reading, name, after)},
        _Made,
    )
    pull = await open_pull(js.connection, js.subject(f"CONSUMER.MSG.NEXT.{reading.stream}.{name}"))
    try:
        yield pull, made.num_pending
    finally:
        await pull.close()
        with contextlib.suppress(BusError):
            await js.api(f"CONSUMER.DELETE.{reading.stream}.{name}", {}, msgspec.Raw)


def _config(reading: Reading, name: str, after: int) -> dict[str, object]:
    config: dict[str, object] = {
        "name": name,
        "deliver_policy": reading.deliver,
        "ack_policy": "none",
        "replay_policy": "instant",
        "filter_subject": reading.subject,
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": IDLE_S * NANOSECONDS,
        "headers_only": reading.headers_only,
    }
    if after and reading.deliver == "all":
        config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": after + 1}
    return config


def _stored(delivery: Delivery) -> Stored:
    place, message = delivery.place, delivery.message
    return Stored(message.subject, place.seq, message.body, message.headers, rfc3339(place.time_ns))
