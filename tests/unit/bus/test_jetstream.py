"""What a stream stores, refuses and hands out, against a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.bus import jetstream
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import EXPECTED_FILTER, EXPECTED_SEQUENCE, MESSAGE_ID, JetStream
from fisk_ai.bus.pulling import place_of
from fisk_ai.bus.stored import headers_of
from fisk_ai.bus.stream_reading import BATCH, Reading, read
from fisk_ai.errors import BusError, MessageTooLargeError, NoRespondersError, StreamError
from fisk_ai.testing.broker import running_streams

RUNS = {
    "name": "RUNS",
    "subjects": ["run.>"],
    "max_msgs_per_subject": 1,
    "discard": "new",
    "discard_new_per_subject": True,
}


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as found:
        await found.api("STREAM.CREATE.RUNS", RUNS, msgspec.Raw)
        yield found


async def _subjects(js: JetStream, reading: Reading) -> list[str]:
    return [item.subject async for item in read(js, reading)]


async def test_a_stored_message_is_handed_out_as_it_was_published(js: JetStream) -> None:
    ack = await js.publish("run.a.1", b"\x00body", headers={"One": "1", "Two": "b: c"})
    found = await js.newest("RUNS", "run.a.>")
    assert found is not None
    assert (found.subject, found.seq, found.body) == ("run.a.1", ack.seq, b"\x00body")
    assert (found.headers["One"], found.headers["Two"]) == ("1", "b: c")
    assert found == await js.message("RUNS", ack.seq)


async def test_a_message_that_is_not_there_is_none(js: JetStream) -> None:
    assert await js.newest("RUNS", "run.none") is None
    assert await js.message("RUNS", 7) is None
    assert await js.next_after("RUNS", 0, "run.>") is None


async def test_the_same_message_id_is_stored_once(js: JetStream) -> None:
    first = await js.publish("run.a.1", b"x", headers={MESSAGE_ID: "one"})
    again = await js.publish("run.a.1", b"x", headers={MESSAGE_ID: "one"})
    assert (first.duplicate, again.duplicate, again.seq) == (False, True, first.seq)


async def test_a_fence_over_several_subjects_refuses_whoever_did_not_see_the_newest(
    js: JetStream,
) -> None:
    await js.publish("run.a.1", b"x")
    fence = {EXPECTED_SEQUENCE: "0", EXPECTED_FILTER: "run.a.>"}
    with pytest.raises(StreamError) as refusal:
        await js.publish("run.a.2", b"y", headers=fence)
    assert refusal.value.err_code == jetstream.WRONG_SEQUENCE
    assert (await js.publish("run.a.2", b"y", headers=fence | {EXPECTED_SEQUENCE: "1"})).seq == 2


async def test_a_subject_that_is_taken_is_refused_with_its_own_number(js: JetStream) -> None:
    await js.publish("run.a.1", b"x")
    with pytest.raises(StreamError) as refusal:
        await js.publish("run.a.1", b"y")
    assert refusal.value.err_code == jetstream.SUBJECT_FULL


async def test_a_subject_of_no_stream_is_nobodys(js: JetStream) -> None:
    with pytest.raises(NoRespondersError):
        await js.publish("elsewhere", b"x")


async def test_what_is_over_the_brokers_limit_never_leaves(js: JetStream) -> None:
    with pytest.raises(MessageTooLargeError):
        await js.publish("run.a.1", b"x" * (js.connection.max_payload + 1))


async def test_a_stream_is_described_with_its_subjects_page_by_page(js: JetStream) -> None:
    for number in range(3):
        await js.publish(f"run.a.{number}", b"x")
    info = await js.stream("RUNS", subjects="run.a.>")
    assert (info.messages, info.total, len(info.subjects)) == (3, 3, 3)
    assert info.config.discard_new_per_subject
    assert (await js.stream("RUNS", subjects="run.a.>", offset=2)).total == 3
    assert await js.streams_of("run.a.1") == ["RUNS"]


async def test_a_stream_that_is_not_there_is_refused_with_its_number(js: JetStream) -> None:
    with pytest.raises(StreamError) as refusal:
        await js.stream("NONE")
    assert refusal.value.err_code == jetstream.NO_STREAM


async def test_an_account_without_streams_says_so(worker: Connection) -> None:
    with pytest.raises(BusError, match="JetStream is not enabled"):
        await JetStream(worker).stream("RUNS")


async def test_a_purge_removes_what_its_subjects_hold_and_nothing_else(js: JetStream) -> None:
    await js.publish("run.a.1", b"x")
    await js.publish("run.b.1", b"x")
    await js.purge("RUNS", "run.a.>")
    await js.purge("RUNS", "run.a.>")
    assert await _subjects(js, Reading("RUNS", "run.>")) == ["run.b.1"]


@pytest.mark.parametrize("count", [0, 1, BATCH, 2 * BATCH + 1])
async def test_everything_that_is_there_is_read_in_order(js: JetStream, count: int) -> None:
    for number in range(count):
        await js.publish(f"run.a.{number}", str(number).encode())
    assert await _subjects(js, Reading("RUNS", "run.a.>")) == [f"run.a.{n}" for n in range(count)]


async def test_a_reading_leaves_no_consumer_behind(js: JetStream) -> None:
    await js.publish("run.a.1", b"x")
    await _subjects(js, Reading("RUNS", "run.>"))
    assert b'"total":0' in bytes(await js.api("CONSUMER.NAMES.RUNS", {}, msgspec.Raw))


async def test_a_reading_goes_on_where_its_consumer_was_lost(js: JetStream) -> None:
    count = BATCH + 5
    for number in range(count):
        await js.publish(f"run.a.{number}", b"x")
    seen: list[str] = []
    async for item in read(js, Reading("RUNS", "run.a.>")):
        seen.append(item.subject)
        if len(seen) == BATCH:
            names = await js.api("CONSUMER.NAMES.RUNS", {}, dict[str, object])
            await js.api(f"CONSUMER.DELETE.RUNS.{names['consumers'][0]}", {}, msgspec.Raw)  # pyright: ignore[reportIndexIssue, reportUnknownMemberType]
    assert seen == [f"run.a.{number}" for number in range(count)]


async def test_a_reading_of_headers_brings_no_bodies(js: JetStream) -> None:
    await js.publish("run.a.1", b"body", headers={"One": "1"})
    reading = Reading("RUNS", "run.>", "last_per_subject", headers_only=True)
    (found,) = [item async for item in read(js, reading)]
    assert (found.body, found.headers["One"]) == (b"", "1")


def test_a_place_is_read_from_both_forms_of_a_reply_subject() -> None:
    short = place_of("$JS.ACK.S.c.1.2.3.4.5")
    long = place_of("$JS.ACK.domain.account.S.c.1.2.3.4.5.random")
    assert short == long
    assert (short.deliveries, short.seq, short.order, short.time_ns, short.pending) == (
        1,
        2,
        3,
        4,
        5,
    )


@given(st.text())
def test_no_reply_subject_of_a_stranger_does_more_than_be_refused(reply: str) -> None:
    with pytest.raises(BusError):
        place_of(reply)


@given(st.binary())
def test_any_bytes_are_headers_or_none(head: bytes) -> None:
    assert headers_of(b"x" + head) == {}
    found = headers_of(b"NATS/1.0\r\nOne: 1\r\n" + head)
    assert found["One"] == "1"
    assert not any(":" in name or value != value.strip() for name, value in found.items())
