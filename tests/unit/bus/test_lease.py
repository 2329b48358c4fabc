"""The lease on one delivered message, against a real broker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.lease import Lease
from fisk_ai.bus.provisioning import ConsumerWish, StreamWish
from fisk_ai.bus.pulling import Delivery, Pull, open_pull
from fisk_ai.testing.broker import connected, provision, running_broker

_LENGTH_S = 1.0
_STREAM = StreamWish(
    name="WORK",
    key="test",
    command="",
    config={"name": "WORK", "subjects": ["work.>"], "retention": "workqueue"},
    exact=(),
    least={"max_age": math.inf},
    keeps_subjects=lambda _: True,
)
_CONSUMER = ConsumerWish(
    stream="WORK",
    name="WORKERS",
    key="test",
    command="",
    config={
        "durable_name": "WORKERS",
        "ack_policy": "explicit",
        "ack_wait": int(_LENGTH_S * 1e9),
        "max_deliver": -1,
    },
    exact=(),
)


@asynccontextmanager
async def _queue(directory: Path) -> AsyncGenerator[tuple[JetStream, Pull], None]:
    async with running_broker(directory, jetstream=True) as broker, connected(broker) as connection:
        js = JetStream(connection)
        await provision(js, _STREAM, _CONSUMER)
        pull = await open_pull(connection, js.subject("CONSUMER.MSG.NEXT.WORK.WORKERS"))
        yield js, pull


async def _delivered(pull: Pull, *, within_s: float = 5.0) -> Delivery | None:
    await pull.ask(1, expires_s=within_s)
    return await pull.next(within_s + 1.0)


async def _first(js: JetStream, pull: Pull) -> Delivery:
    await js.publish("work.one", b"{}")
    delivery = await _delivered(pull)
    assert delivery is not None
    return delivery


async def test_a_message_is_ours_for_longer_than_one_lease_while_it_is_renewed(
    tmp_path: Path,
) -> None:
    async with _queue(tmp_path) as (js, pull):
        delivery = await _first(js, pull)
        async with Lease(js.connection, delivery, length_s=_LENGTH_S) as lease:
            assert await _delivered(pull, within_s=2.5 * _LENGTH_S) is None
            assert not lease.lost.is_set()
            assert await lease.ack()
        assert (await js.stream("WORK")).messages == 0


async def test_a_message_that_nobody_settled_is_delivered_again(tmp_path: Path) -> None:
    async with _queue(tmp_path) as (js, pull):
        delivery = await _first(js, pull)
        async with Lease(js.connection, delivery, length_s=_LENGTH_S):
            pass
        again = await _delivered(pull)
        assert again is not None
        assert again.place.deliveries == delivery.place.deliveries + 1


async def test_a_message_that_is_handed_back_goes_to_the_next_at_once(tmp_path: Path) -> None:
    async with _queue(tmp_path) as (js, pull):
        delivery = await _first(js, pull)
        async with Lease(js.connection, delivery, length_s=60.0) as lease:
            assert await lease.hand_back()
        assert await _delivered(pull) is not None


async def test_a_lease_ends_for_us_before_the_broker_delivers_again_when_it_is_cut_off(
    tmp_path: Path,
) -> None:
    async with running_broker(tmp_path, jetstream=True) as broker, connected(broker) as connection:
        js = JetStream(connection)
        await provision(js, _STREAM, _CONSUMER)
        pull = await open_pull(connection, js.subject("CONSUMER.MSG.NEXT.WORK.WORKERS"))
        delivery = await _first(js, pull)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with Lease(connection, delivery, length_s=_LENGTH_S) as lease:
            await broker.stop()
            await asyncio.wait_for(lease.lost.wait(), 5 * _LENGTH_S)
        assert loop.time() - began < _LENGTH_S


async def test_nothing_is_settled_once_the_lease_was_given_up(tmp_path: Path) -> None:
    async with _queue(tmp_path) as (js, pull):
        delivery = await _first(js, pull)
        async with Lease(js.connection, delivery, length_s=_LENGTH_S) as lease:
            lease.give_up()
            assert not await lease.ack()
        assert await _delivered(pull) is not None
