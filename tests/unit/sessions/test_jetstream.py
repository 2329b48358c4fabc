"""Sessions in a stream of a real server: the fence, lost acknowledgements, presence, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import OPERATION_TIMEOUT_S, Ack, JetStream
from fisk_ai.errors import (
    BusError,
    BusTimeoutError,
    ConfigError,
    CorruptError,
    ExistsError,
    LockedError,
    SetupError,
    StoreError,
)
from fisk_ai.sessions import store as backends
from fisk_ai.sessions.builtin import store as _registered
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.records import Payload
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.broker import connected, running_broker
from fisk_ai.testing.session_records import assistant, claim, meta, result, terminal, user, write

GOOD: Mapping[str, object] = {
    "name": "RUNS",
    "subjects": ["fisk.runs.>"],
    "max_msgs_per_subject": 1,
    "discard": "new",
    "discard_new_per_subject": True,
}


@dataclass(frozen=True)
class Fleet:
    """Two workers' connections to one broker."""

    one: Connection
    two: Connection

    async def make(self, **changes: object) -> None:
        await JetStream(self.one).api("STREAM.CREATE.RUNS", {**GOOD, **changes}, msgspec.Raw)

    async def store(self, connection: Connection) -> StreamStore:
        return await _bound(JetStream(connection))


async def _bound(js: JetStream) -> StreamStore:
    store = StreamStore(js, "RUNS", Presence(js.connection, "agent", again_s=0.0, ask_s=0.2))
    await store.bind()
    return store


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with (
        running_broker(tmp_path / "broker", jetstream=True) as broker,
        connected(broker) as one,
        connected(broker) as two,
    ):
        yield Fleet(one, two)


class _Deaf(JetStream):
    """A broker whose next acknowledgements are lost on the way."""

    lost = 0
    how: type[BusError] = BusError

    async def publish(
        self,
        subject: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = OPERATION_TIMEOUT_S,
    ) -> Ack:
        ack = await super().publish(subject, body, headers=headers, timeout_s=timeout_s)
        if self.lost:
            self.lost -= 1
            raise self.how("the acknowledgement was lost")
        return ack


async def _deaf(fleet: Fleet) -> tuple[_Deaf, StreamStore]:
    await fleet.make()
    js = _Deaf(fleet.one)
    return js, await _bound(js)


async def test_of_two_writers_the_second_to_record_is_refused_and_overwrites_nothing(
    fleet: Fleet,
) -> None:
    await fleet.make()
    store = await fleet.store(fleet.one)
    await write(store, "one", terminal("suspended"))
    first, second = await store.open("one"), await store.open("one")
    await first.append(3, claim())
    with pytest.raises(LockedError):
        await second.append(3, user("mine"))
    with pytest.raises(LockedError):
        await second.check_held()
    await first.check_held()
    assert (await store.records("one"))[-1].payload == claim()


async def test_a_record_whose_acknowledgement_was_lost_is_found_and_written_once(
    fleet: Fleet,
) -> None:
    js, store = await _deaf(fleet)
    handle = await store.create("one", meta())
    js.lost = 1
    with pytest.raises(StoreError):
        await handle.append(2, user("once"))
    assert handle.last_seq() == 1
    await handle.check_held()
    await handle.append(2, user("once"))
    assert handle.last_seq() == 2
    await handle.append(3, user("next"))
    assert [r.payload for r in (await store.records("one"))[1:]] == [user("once"), user("next")]


@pytest.mark.parametrize("record", [user("once"), terminal()], ids=["user", "terminal"])
async def test_an_append_that_nobody_acknowledged_is_offered_again_until_it_is_known_to_be_stored(
    fleet: Fleet, record: Payload
) -> None:
    js, store = await _deaf(fleet)
    handle = await store.create("one", meta())
    js.lost, js.how = 1, BusTimeoutError
    await handle.append(2, record)
    assert js.lost == 0
    assert handle.last_seq() == 2
    assert [r.payload for r in (await store.records("one"))[1:]] == [record]


async def test_a_record_given_up_in_doubt_that_landed_stays_before_the_next_one(
    fleet: Fleet,
) -> None:
    js, store = await _deaf(fleet)
    handle = await store.create("one", meta())
    js.lost = 1
    with pytest.raises(StoreError):
        await handle.append(2, user("given up"))
    await handle.append(2, terminal("error"))
    assert handle.last_seq() == 3
    kept = [record.payload for record in (await store.records("one"))[1:]]
    assert kept == [user("given up"), terminal("error")]


async def test_a_creation_whose_acknowledgement_was_lost_is_not_taken_for_somebody_elses(
    fleet: Fleet,
) -> None:
    js, store = await _deaf(fleet)
    js.lost = 1
    with pytest.raises(StoreError):
        await store.create("one", meta())
    with pytest.raises(ExistsError):
        await store.create("one", meta())
    assert (await store.load("one")).last_seq == 1


async def test_a_held_session_is_refused_on_another_worker_and_nothing_is_written(
    fleet: Fleet,
) -> None:
    await fleet.make()
    one, two = await fleet.store(fleet.one), await fleet.store(fleet.two)
    handle = await one.create("one", meta())
    for attempt in (two.open("one"), two.open("one", take_over=True), two.delete("one")):
        with pytest.raises(LockedError):
            await attempt
    assert await two.held_by("one") == "a worker"
    assert (await two.load("one")).last_seq == 1
    await handle.close()
    assert await two.held_by("one") == ""
    await (await two.open("one")).close()


async def test_a_holder_is_named_by_its_claim(fleet: Fleet) -> None:
    await fleet.make()
    one, two = await fleet.store(fleet.one), await fleet.store(fleet.two)
    handle = await one.create("one", meta())
    await handle.append(2, claim())
    assert await two.held_by("one") == claim().by


async def test_a_silent_holder_keeps_its_session_from_all_but_who_may_take_over(
    fleet: Fleet,
) -> None:
    await fleet.make()
    store = await fleet.store(fleet.two)
    await write(store, "one", user("more"))
    thawed = asyncio.Event()

    async def frozen(_: object) -> None:
        await thawed.wait()

    await fleet.one.watch("fisk.session.agent.one", frozen)
    with pytest.raises(LockedError, match="silent"):
        await store.open("one")
    handle = await store.open("one", take_over=True)
    await handle.append(handle.last_seq() + 1, claim())
    await handle.close()
    assert (await store.load("one")).last_seq == 3
    thawed.set()


async def test_an_ended_session_is_opened_without_a_question(fleet: Fleet) -> None:
    await fleet.make()
    store = await fleet.store(fleet.one)
    await write(store, "one", terminal())
    asked: list[bytes] = []

    async def count(inbound: object) -> None:
        asked.append(b"")

    await fleet.two.watch("fisk.session.agent.one", count)
    await (await store.open("one")).close()
    assert asked == []


async def test_a_message_that_no_record_is_names_its_subject(fleet: Fleet) -> None:
    await fleet.make()
    store = await fleet.store(fleet.one)
    await write(store, "one")
    js = JetStream(fleet.one)
    await js.publish("fisk.runs.one.2", b"{")
    with pytest.raises(CorruptError, match=r"fisk\.runs\.one\.2"):
        await store.load("one")
    await js.purge("RUNS", "fisk.runs.one.2")
    await js.publish("fisk.runs.one.2", (await _body(js, "fisk.runs.one._meta")))
    with pytest.raises(CorruptError, match=r"fisk\.runs\.one\.2 holds record 1"):
        await store.load("one")


async def _body(js: JetStream, subject: str) -> bytes:
    message = await js.newest("RUNS", subject)
    assert message is not None
    return message.body


async def test_damaged_sessions_are_left_out_of_a_listing_and_foreign_subjects_ignored(
    fleet: Fleet,
) -> None:
    await fleet.make(subjects=["fisk.runs.>", "literal"])
    store = await fleet.store(fleet.one)
    js = JetStream(fleet.one)
    await write(store, "good")
    await write(store, "bad")
    for subject in ("fisk.runs.bad.2", "fisk.runs.-x._meta", "fisk.runs.no._meta", "literal"):
        await js.publish(subject, b"{")
    assert [row.run_id for row in await store.list(Filter())] == ["good"]
    assert [row.run_id for row in (await store.list_page(Filter(), 5, ""))[0]] == ["good"]
    assert [row.run_id for row in await store.describe(Filter(), ["bad", "good"])] == ["good"]


async def test_a_session_moves_to_a_file_and_back_without_a_changed_byte(
    fleet: Fleet, tmp_path: Path
) -> None:
    await fleet.make()
    store = await fleet.store(fleet.one)
    js = JetStream(fleet.one)
    await write(store, "one", assistant("a", say="<b>\u2028"), result("a"), terminal())
    subjects = ["_meta", "2", "3", "4"]
    bodies = [await _body(js, f"fisk.runs.one.{last}") for last in subjects]
    (tmp_path / "one.json").write_bytes(b"".join(body + b"\n" for body in bodies))
    assert await FileStore(tmp_path).load("one") == await store.load("one")
    before = await store.load("one")
    await store.delete("one")
    lines = (tmp_path / "one.json").read_bytes().splitlines()
    for last, line in zip(subjects, lines, strict=True):
        await js.publish(f"fisk.runs.one.{last}", line)
    assert await store.load("one") == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"subjects": ["runs"]}, "prefix.>"),
        ({"subjects": ["a.>", "b.>"]}, "prefix.>"),
        ({"subjects": ["a.*"]}, "prefix.>"),
        ({"subjects": [">"], "no_ack": True}, "prefix.>"),
        ({"max_msgs_per_subject": 2}, "--max-msgs-per-subject=1"),
        ({"discard": "old", "discard_new_per_subject": False}, "--discard=new"),
        ({"discard_new_per_subject": False}, "--discard-per-subject"),
        ({"max_age": 3_600_000_000_000}, "--max-age=0"),
        ({"max_msg_size": 1_048_575}, "--max-msg-size=1048576"),
    ],
)
async def test_a_stream_that_could_lose_a_record_is_refused_with_what_mends_it(
    fleet: Fleet, changes: dict[str, object], said: str
) -> None:
    await fleet.make(**changes)
    with pytest.raises(SetupError) as refusal:
        await fleet.store(fleet.one)
    assert said in str(refusal.value)
    assert '"RUNS"' in str(refusal.value)


async def test_a_missing_stream_is_refused_with_the_command_that_makes_it(fleet: Fleet) -> None:
    with pytest.raises(SetupError, match="nats stream add RUNS"):
        await fleet.store(fleet.one)


@pytest.mark.parametrize("options", [{}, {"stream": ""}, {"stream": "a.b"}, {"bucket": "x"}])
def test_options_that_name_no_stream_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        backends.check("jetstream", StoreConfig(options=options))


def test_without_a_connection_the_backend_says_what_to_set() -> None:
    with pytest.raises(SetupError, match="nats_context"):
        _registered.new("jetstream", StoreConfig(options={"stream": "RUNS"}))
