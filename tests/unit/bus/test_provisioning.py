"""What is wished for at a broker, against a real one: made, changed without loss, or refused."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.provisioning import Finding, apply, create, look
from fisk_ai.bus.wishes import LAYOUT, SHARED, ConsumerWish, Isolation, StreamWish, Wish
from fisk_ai.errors import StreamError
from fisk_ai.testing.broker import running_streams

pytestmark = pytest.mark.integration

SECOND_NS = 1_000_000_000


def queue(whose: Isolation = SHARED) -> StreamWish:
    """Return a work queue whose subjects end in an identity."""
    subjects = [f"orders.{whose.token}"]
    return StreamWish(
        name=whose.name("ORDERS"),
        key="expose.orders",
        command="",
        config={
            "name": whose.name("ORDERS"),
            "subjects": subjects,
            "retention": "workqueue",
            "storage": "file",
            "max_bytes": 1 << 20,
            "metadata": LAYOUT,
        },
        exact=("retention", "storage"),
        least={"max_msgs": math.inf},
        bounded=("max_bytes",),
        keeps_subjects=lambda found: list(found) == subjects,
        found_by=subjects[0],
    )


def taker(**changes: object) -> ConsumerWish:
    """Return a consumer of one identity's orders."""
    config: dict[str, object] = {
        "durable_name": "cook",
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "filter_subject": "orders.cook",
        "ack_wait": 60 * SECOND_NS,
        "max_deliver": -1,
        "max_ack_pending": 1000,
    }
    return ConsumerWish(
        stream="ORDERS",
        name="cook",
        key="expose.orders",
        command="",
        config=config | changes,
        exact=("ack_policy", "deliver_policy"),
        tuned=("filter_subject", "ack_wait", "max_deliver"),
        least={"max_ack_pending": 1000},
    )


class _Info(msgspec.Struct):
    config: dict[str, object]


async def consumer(js: JetStream, place: str = "ORDERS.cook") -> Mapping[str, object]:
    """Return how a consumer is configured."""
    return (await js.api(f"CONSUMER.INFO.{place}", {}, _Info)).config


async def applied(js: JetStream, wish: Wish) -> Finding:
    """Look, and do what is to be done."""
    finding = await look(js, wish)
    await apply(js, finding)
    return finding


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as streams:
        yield streams


async def test_a_consumer_that_is_missing_is_made_and_then_as_needed(js: JetStream) -> None:
    await create(js, queue())
    assert (await applied(js, taker())).lines == ("created",)
    assert (await consumer(js))["filter_subject"] == "orders.cook"
    again = await applied(js, taker())
    assert (again.lines, again.changes, again.refused) == (("exists",), {}, False)


async def test_a_consumer_of_a_stream_that_is_missing_is_missing(js: JetStream) -> None:
    finding = await look(js, taker())
    assert (finding.exists, finding.lines) == (False, ("created",))
    with pytest.raises(StreamError):
        await apply(js, finding)


async def test_what_a_consumer_was_tuned_to_is_changed_and_keeps_its_place(js: JetStream) -> None:
    await create(js, queue())
    await create(js, taker(filter_subject="orders.*", ack_wait=SECOND_NS, max_ack_pending=5))
    await js.publish("orders.cook", b"soup")
    finding = await applied(js, taker())
    assert set(finding.lines) == {
        "changed: filter_subject orders.* -> orders.cook",
        "changed: ack_wait 1000000000 -> 60000000000",
        "changed: max_ack_pending 5 -> 1000",
    }
    changed = await consumer(js)
    assert (changed["filter_subject"], changed["ack_wait"]) == ("orders.cook", 60 * SECOND_NS)
    assert (await applied(js, taker())).lines == ("exists",)


async def test_several_filters_of_a_consumer_become_its_own_one(js: JetStream) -> None:
    await create(js, queue())
    await create(js, taker(filter_subject="", filter_subjects=["orders.cook", "orders.host"]))
    await applied(js, taker())
    changed = await consumer(js)
    assert changed["filter_subject"] == "orders.cook"
    assert "filter_subjects" not in changed


async def test_an_operators_higher_limit_of_a_consumer_stays(js: JetStream) -> None:
    await create(js, queue())
    await create(js, taker(max_ack_pending=5000))
    assert (await applied(js, taker())).lines == ("exists",)
    assert (await consumer(js))["max_ack_pending"] == 5000


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"ack_policy": "all"}, "refused: ack_policy is all, needed explicit:"),
        (
            {"deliver_subject": "elsewhere"},
            "refused: deliver_subject is elsewhere, needed not set:",
        ),
    ],
)
async def test_a_consumer_that_would_have_to_be_made_anew_is_refused(
    js: JetStream, made: Mapping[str, object], said: str
) -> None:
    stream = queue()
    await create(js, replace(stream, config={**stream.config, "retention": "limits"}))
    await create(js, taker(**made))
    finding = await applied(js, taker())
    assert finding.refused
    assert finding.lines[0].startswith(said)
    assert finding.lines[0].endswith("what it has delivered would be at stake")
    for name, value in made.items():
        assert (await consumer(js))[name] == value


async def test_a_stream_that_its_operator_renamed_is_the_one_wished_for(js: JetStream) -> None:
    await create(js, queue().called("KITCHEN"))
    finding = await applied(js, queue())
    assert (finding.wish.place, finding.lines) == ("KITCHEN", ("exists",))
    await applied(js, taker().on(finding.wish.place))
    assert (await consumer(js, "KITCHEN.cook"))["durable_name"] == "cook"


@pytest.mark.parametrize(
    ("there", "wished"),
    [(SHARED, Isolation("cook")), (Isolation("cook"), SHARED)],
    ids=["one's own beside all", "all beside one's own"],
)
async def test_a_set_beside_another_that_holds_its_subjects_is_refused(
    js: JetStream, there: Isolation, wished: Isolation
) -> None:
    await create(js, queue(there))
    finding = await applied(js, queue(wished))
    assert finding.refused
    assert f"is held by {queue(there).name} already" in finding.lines[0]
    assert await js.streams_of("orders.*") == [queue(there).name]


async def test_sets_of_their_own_stand_side_by_side(js: JetStream) -> None:
    for identity in ("cook", "host"):
        assert (await applied(js, queue(Isolation(identity)))).lines == ("created",)
    assert (await applied(js, queue(Isolation("cook")))).lines == ("exists",)
    assert sorted(await js.streams_of("orders.>")) == ["ORDERS_cook", "ORDERS_host"]


async def test_a_stream_that_must_be_limited_and_is_not_is_refused(js: JetStream) -> None:
    stream = queue()
    await create(js, replace(stream, config={**stream.config, "max_bytes": -1}))
    finding = await applied(js, stream)
    assert finding.refused
    assert finding.lines == (
        (
            "refused: max_bytes is -1, needed 1048576: the oldest of what is stored would be at"
            " stake"
        ),
    )


async def test_subjects_that_are_missing_are_added(js: JetStream) -> None:
    def keeps(found: Sequence[str]) -> bool:
        return "orders.*" in found

    wish = replace(queue(), keeps_subjects=keeps, found_by="")
    await create(js, replace(wish, config={**wish.config, "subjects": ["notes"]}))
    finding = await applied(js, wish)
    assert finding.lines == ("changed: subjects notes -> notes,orders.*",)
    assert set((await js.stream("ORDERS")).config.subjects) == {"notes", "orders.*"}
