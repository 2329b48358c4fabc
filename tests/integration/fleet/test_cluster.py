"""Three brokers that keep every session thrice: their leader dies, two writers race."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import LockedError
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.sessions.store import Journal
from fisk_ai.testing.cluster import Cluster, running_cluster
from fisk_ai.testing.persistence import Books, Persistent
from fisk_ai.testing.session_records import terminal, user, write
from fisk_ai.testing.soak import ANSWER, IDENTITY, STEPS, shop_in

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

PROMPTS = 24
RECORDS = 12


@dataclass(frozen=True)
class Place:
    """The cluster, a connection to it and the session stream on all three."""

    cluster: Cluster
    caller: Connection
    js: JetStream

    async def store(self, connection: Connection | None = None) -> StreamStore:
        js = JetStream(connection or self.caller)
        bound = StreamStore(js, "RUNS", Presence(js.connection, IDENTITY))
        await bound.bind()
        return bound


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with running_cluster(tmp_path / "cluster") as cluster:
        caller = await cluster.connect("caller")
        js = JetStream(caller)
        await cluster.provision(js, stream_wish("RUNS", replicas=3))
        yield Place(cluster, caller, js)
        await caller.drop()


async def test_the_death_of_the_brokers_leader_loses_no_run_and_repeats_no_step(
    place: Place, tmp_path: Path
) -> None:
    shop = shop_in(tmp_path / "agent", place.cluster.url)
    store = await place.store()
    try:
        await shop.start("--no-operator")
        await shop.start("--no-operator")
        asker = Persistent(place.caller, IDENTITY, store)
        asking = [asyncio.create_task(asker.ask(f"prompt {n}")) for n in range(PROMPTS)]
        await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(2):
            leader = await place.cluster.leader_of(place.js, "RUNS")
            await leader.kill()
            await leader.start()
        assert await asyncio.gather(*asking) == [ANSWER] * PROMPTS
        books = await Books.audit(store, shop.application.calls())
    finally:
        await shop.close()
    assert books.repeated == 0
    assert books.recorded >= PROMPTS * STEPS


async def test_of_two_writers_that_race_on_three_brokers_one_records_and_the_other_is_told(
    place: Place,
) -> None:
    other = await place.cluster.connect("other")
    one, two = await place.store(), await place.store(other)
    await write(one, "race", terminal("suspended"))
    before = await one.records("race")
    writers = [await one.open("race"), await two.open("race")]
    written = await asyncio.gather(*(_writes(writer) for writer in writers))
    after = await two.records("race")
    assert sorted(written) == [0, RECORDS]
    assert after[: len(before)] == before
    assert [record.seq for record in after] == list(range(1, len(before) + RECORDS + 1))
    await asyncio.gather(*(writer.close() for writer in writers))
    await other.drop()


async def _writes(journal: Journal) -> int:
    """Record until somebody else did, and return how often."""
    for number in range(RECORDS):
        try:
            await journal.append(journal.last_seq() + 1, user(str(number)))
        except LockedError:
            return number
    return RECORDS
