"""Tasks in a bucket: which bucket is taken, and what is no task in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.errors import ConfigError, CorruptError, SetupError, StoreError
from fisk_ai.tasks import builtin as _backends
from fisk_ai.tasks import store
from fisk_ai.tasks.jetstream import BucketTasks
from fisk_ai.testing.broker import running_streams
from fisk_ai.testing.task_store import request, result

pytestmark = pytest.mark.integration

REGISTERED = _backends


@pytest.fixture
async def js(tmp_path: Path) -> AsyncIterator[JetStream]:
    async with running_streams(tmp_path / "broker") as streams:
        yield streams


async def make(js: JetStream, **changes: object) -> None:
    config = {"name": "KV_T", "subjects": ["$KV.T.>"], "max_msgs_per_subject": 1}
    await js.api("STREAM.CREATE.KV_T", config | changes, msgspec.Raw)


async def test_a_bucket_that_is_missing_is_refused_with_the_command_that_makes_it(
    js: JetStream,
) -> None:
    with pytest.raises(SetupError, match="make it with: nats kv add T --history=1"):
        await BucketTasks(js, "T").bind()


async def test_a_bucket_whose_tasks_would_expire_is_refused(js: JetStream) -> None:
    await make(js, max_age=3_600_000_000_000)
    with pytest.raises(SetupError, match="would expire after 3600 s"):
        await BucketTasks(js, "T").bind()


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "bucket is required"), ({"bucket": "a.b"}, "can be no bucket"), ({"ttl": 1}, "ttl")],
)
def test_options_that_name_no_bucket_are_refused(options: Mapping[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        store.check("jetstream", store.TaskConfig(options=options))


def test_a_store_at_a_broker_needs_a_connection() -> None:
    assert store.needs_broker("jetstream")
    with pytest.raises(SetupError, match="there is no NATS connection"):
        store.new("jetstream", store.TaskConfig(options={"bucket": "T"}))


async def test_a_value_that_is_another_keys_task_is_damage(js: JetStream) -> None:
    await make(js)
    tasks = store.new("jetstream", store.TaskConfig(options={"bucket": "T"}, js=js))
    await tasks.submit(request())
    found = await js.newest("KV_T", "$KV.T.one")
    assert found is not None
    await js.publish("$KV.T.two", found.body)
    with pytest.raises(CorruptError, match="key two of bucket T holds task one"):
        await tasks.load("two")


async def test_a_result_that_the_bucket_does_not_take_leaves_the_task_as_it_was(
    js: JetStream,
) -> None:
    await make(js, max_msg_size=1_000)
    tasks = BucketTasks(js, "T")
    await tasks.submit(request())
    with pytest.raises(StoreError, match="cannot be written"):
        await tasks.complete("one", result("y" * 1_000))
    assert (await tasks.load("one")).state == "submitted"
