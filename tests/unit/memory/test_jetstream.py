"""Memories in a bucket of a real server: what is refused at the start, and whose keys are whose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import ConfigError, SetupError, StaleError, StoreError
from fisk_ai.memory import scope
from fisk_ai.memory.bucket_option import BucketOption, bucket_of
from fisk_ai.memory.builtin import store as backends
from fisk_ai.memory.jetstream import BucketMemory
from fisk_ai.memory.store import Entry, Memory, MemoryConfig
from fisk_ai.testing.broker import running_streams


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as streams:
        yield streams


async def _bucket(js: JetStream, **changes: object) -> None:
    config = {"name": "KV_MEM", "subjects": ["$KV.MEM.>"], "max_msgs_per_subject": 1, **changes}
    await js.api("STREAM.CREATE.KV_MEM", config, msgspec.Raw)


def _config(options: Mapping[str, object]) -> MemoryConfig:
    return MemoryConfig(identity="agent", options=options)


def _memory(js: JetStream, **options: object) -> BucketMemory:
    return BucketMemory(js, bucket_of(_config({"bucket": "MEM", **options})))


async def test_a_missing_bucket_is_refused_with_the_command_that_makes_it(js: JetStream) -> None:
    with pytest.raises(SetupError, match=r"nats kv add MEM --history=1 --max-value-size=69600"):
        await _memory(js).bind()


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"max_age": 60_000_000_000}, "--ttl=0"), ({"max_msg_size": 69599}, "--max-value-size=69600")],
)
async def test_a_bucket_that_could_lose_a_memory_is_refused_with_what_mends_it(
    js: JetStream, changes: Mapping[str, object], said: str
) -> None:
    await _bucket(js, **changes)
    with pytest.raises(SetupError) as refusal:
        await _memory(js).bind()
    assert said in str(refusal.value)


async def test_a_bucket_that_is_fit_is_bound(js: JetStream) -> None:
    await _bucket(js, max_msg_size=69600)
    memory = _memory(js)
    await memory.bind()
    await memory.create("k", "mine", "1")
    assert await memory.list() == [Entry("k", "mine")]


async def test_agents_with_prefixes_do_not_see_each_others_memories(js: JetStream) -> None:
    await _bucket(js)
    mine, theirs = _memory(js), _memory(js, prefix="other")
    await mine.create("k", "mine", "1")
    await theirs.create("k", "theirs", "2")
    assert await mine.list() == [Entry("k", "mine")]
    assert await theirs.read("k") == Memory("theirs", "2")


async def test_keys_that_are_not_legal_are_left_out_of_a_list(js: JetStream) -> None:
    await _bucket(js)
    memory = _memory(js, prefix="")
    await memory.create("k", "mine", "1")
    await js.publish("$KV.MEM.a/b", b"x")
    assert await memory.list() == [Entry("k", "mine")]


async def test_what_the_server_removed_is_no_memory(js: JetStream) -> None:
    await _bucket(js)
    memory = _memory(js, prefix="")
    await memory.create("k", "mine", "1")
    await js.publish("$KV.MEM.k", b"", headers={"Nats-Marker-Reason": "MaxAge"})
    assert await memory.list() == []
    await memory.create("k", "again", "2")


async def test_where_no_read_is_asked_for_the_last_to_write_wins(js: JetStream) -> None:
    await _bucket(js)
    memory = _memory(js, no_require_read_before_update=True)
    with scope.attached():
        await memory.update("missing", "d", "1")
        await memory.update("missing", "d", "2")
    assert (await memory.peek("missing")).content == "2"


async def test_an_update_without_a_scope_is_stale_and_the_server_is_not_asked(
    js: JetStream,
) -> None:
    memory = _memory(js)  # there is no bucket at all
    with pytest.raises(StaleError):
        await memory.update("k", "d", "1")


async def test_a_broker_that_is_gone_is_an_error_that_names_the_key(js: JetStream) -> None:
    await _bucket(js)
    memory = _memory(js)
    await js.connection.drop()
    with pytest.raises(StoreError, match=r'cannot read memory "k"'):
        await memory.read("k")
    with pytest.raises(SetupError):
        await memory.bind()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket": "a.b"},
        {"bucket": "b", "prefix": "a b"},
        {"bucket": "b", "directory": "x"},
        {"bucket": "b", "no_require_read_before_update": "yes"},
    ],
)
def test_options_that_name_no_place_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        backends.check("jetstream", _config(options))


def test_an_identity_that_can_be_no_prefix_asks_for_one() -> None:
    config = MemoryConfig(identity="no good", options={"bucket": "MEM"})
    with pytest.raises(ConfigError, match=r"set a prefix that can, or an empty one"):
        bucket_of(config)
    flat = MemoryConfig(identity="no good", options={"bucket": "MEM", "prefix": ""})
    assert bucket_of(flat) == BucketOption("MEM", "", reads_before_update=True)


def test_without_a_connection_the_backend_says_what_to_set() -> None:
    with pytest.raises(SetupError, match="nats_context"):
        backends.new("jetstream", _config({"bucket": "MEM"}))
