"""Saving, queueing, loading, retrying and removing jobs at a real broker."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fisk_ai.bus.connection import Inbound
from fisk_ai.bus.wishes import ConsumerWish
from fisk_ai.errors import JobConflictError, JobError, NoJobError, NoQueueError
from fisk_ai.jobs import events, names
from fisk_ai.jobs.job import Job, encode
from fisk_ai.jobs.queue import join, open_items
from fisk_ai.jobs.store import Entry, JobStore
from fisk_ai.testing.broker import provision, running_streams
from fisk_ai.testing.job_queue import QUEUE, QueueBench, wishes
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.text.gojson import RawJSON

pytestmark = pytest.mark.integration


def made(job_id: str = "one", **members: object) -> Job:
    job = Job(id=job_id, type="fisk-ai:run", payload=b"{}", created=rfc3339_now())
    return replace(job, **members)  # pyright: ignore[reportArgumentType] - fields of a job


async def test_a_job_is_stored_queued_and_loaded_as_it_was(queue: QueueBench) -> None:
    job = made()
    stored = await queue.store.enqueue(Entry(job), QUEUE)
    assert await queue.store.load("one") == stored
    assert stored.job == replace(job, queue=QUEUE)
    delivery = await queue.deliver()
    assert delivery is not None
    assert delivery.message.body == b'{"kind":0,"job":"one"}'
    assert delivery.message.subject == "CHORIA_AJ.Q.FISK_AI.one"


async def test_a_second_submission_under_one_id_is_refused_and_changes_nothing(
    queue: QueueBench,
) -> None:
    await queue.put()
    with pytest.raises(JobConflictError, match="exists already"):
        await queue.store.enqueue(Entry(made(payload=b'"other"')), QUEUE)
    assert (await queue.job()).payload == b"{}"
    assert await queue.items() == 1


async def test_who_saves_over_another_ones_save_is_refused(queue: QueueBench) -> None:
    await queue.put()
    read = await queue.store.load("one")
    await queue.store.save(read, state="active")
    with pytest.raises(JobConflictError, match="changed by somebody else"):
        await queue.store.save(read, state="complete")
    assert (await queue.job()).state == "active"


@pytest.mark.parametrize("state", ["active", "complete", "expired", "terminated", "queue_error"])
async def test_nothing_is_queued_from_a_state_that_is_not_waiting(
    queue: QueueBench, state: str
) -> None:
    with pytest.raises(JobError, match=f'cannot enqueue a task in state "{state}"'):
        await queue.store.enqueue(Entry(made(state=state)), QUEUE)
    assert await queue.items() == 0


async def test_a_queue_that_is_not_there_costs_no_answer_and_stores_no_job(
    queue: QueueBench,
) -> None:
    with pytest.raises(NoQueueError, match="queue not found: NOWHERE"):
        await queue.store.enqueue(Entry(made()), "NOWHERE")
    with pytest.raises(NoJobError):
        await queue.job()
    ended = await queue.store.save(Entry(made(state="complete", result=RawJSON(b'{"payload":1}'))))
    with pytest.raises(NoQueueError, match="queue not found: NOWHERE"):
        await queue.store.retry("one", "NOWHERE")
    assert await queue.store.load("one") == ended


async def test_a_full_queue_leaves_the_job_in_queue_error_in_the_brokers_words(
    queue: QueueBench,
) -> None:
    await queue.change(names.queue_stream(QUEUE), max_msgs=1)
    await queue.put()
    with pytest.raises(JobError, match="maximum messages exceeded"):
        await queue.store.enqueue(Entry(made("two")), QUEUE)
    assert (await queue.job("two")).state == "queue_error"


async def test_an_item_that_the_broker_takes_for_a_copy_is_told_as_one(queue: QueueBench) -> None:
    await queue.put()
    await queue.store.delete("one")
    with pytest.raises(JobError, match="duplicate work queue item"):
        await queue.store.enqueue(Entry(made()), QUEUE)
    assert (await queue.job()).last_err == "duplicate work queue item"


async def test_a_retry_replaces_the_item_and_keeps_what_was_counted(queue: QueueBench) -> None:
    await queue.put(state="terminated")
    entry = await queue.store.load("one")
    await queue.store.save(entry, tries=3, last_err="no", result=RawJSON(b'{"payload":1}'))
    before = await queue.deliver()
    await queue.store.retry("one", QUEUE)
    job = await queue.job()
    assert (job.state, job.tries, job.last_err, job.result) == ("retry", 3, "no", None)
    again = await queue.deliver()
    assert before is not None
    assert again is not None
    assert (await queue.items(), again.place.deliveries) == (1, 1)
    assert again.place.seq > before.place.seq


@pytest.mark.parametrize("job_id", ["missing", "a b", "", "x" * 200, "one\n"])
async def test_an_unknown_job_is_not_found(queue: QueueBench, job_id: str) -> None:
    with pytest.raises(NoJobError, match="task not found"):
        await queue.store.load(job_id)


async def test_a_job_that_was_removed_is_not_found(queue: QueueBench) -> None:
    await queue.put()
    await queue.store.delete("one")
    with pytest.raises(NoJobError):
        await queue.store.load("one")
    with pytest.raises(NoJobError):
        await queue.store.delete("one")


async def test_all_jobs_are_listed_but_those_that_cannot_be_read(queue: QueueBench) -> None:
    await queue.put()
    await queue.keep(made("two"))
    await queue.js.publish(names.job_subject("odd"), b"odd")
    await queue.js.publish(names.job_subject("other"), encode(made("somebodys")))
    left_out: list[str] = []
    assert [entry.job.id async for entry in queue.store.all(left_out)] == ["one", "two"]
    assert left_out == ["odd", "other"]


async def test_each_change_is_told_with_the_state_it_led_to(queue: QueueBench) -> None:
    told: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear(inbound: Inbound) -> None:
        told.put_nowait(inbound.body)

    await queue.js.connection.watch(names.EVENT_SUBJECTS, hear)
    entry = await queue.store.save(Entry(made(last_err="why")))
    body = await asyncio.wait_for(told.get(), 5)
    event = events.decode(body)
    assert (event.task_id, event.state, event.last_error) == ("one", "new", "why")
    assert event.task_age > 0
    assert event.timestamp.endswith("Z")
    assert "." not in event.timestamp
    assert list(msgspec.json.decode(body)) == [
        *("event_id", "type", "timestamp", "task_id", "state", "tries"),
        *("task_type", "last_error", "task_age"),
    ]
    await queue.store.save(entry, queue=QUEUE, state="active")
    assert b'"queue":"FISK_AI"' in await asyncio.wait_for(told.get(), 5)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"type":1}', b"\xff", b"{}"])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(JobError):
        events.decode(body)


def test_an_event_of_another_type_is_named() -> None:
    with pytest.raises(JobError, match=r"unknown event type: io\.other"):
        events.decode(b'{"type":"io.other"}')


async def test_without_the_stream_of_jobs_nothing_is_stored_and_its_command_is_named(
    tmp_path: Path,
) -> None:
    async with running_streams(tmp_path) as js:
        store = JobStore(js)
        for failing in (store.save(Entry(made())), store.load("one"), join(js, QUEUE)):
            with pytest.raises(JobError, match="ajc tasks initialize"):
                await failing


async def test_what_a_queue_lacks_is_named(tmp_path: Path) -> None:
    async with running_streams(tmp_path) as js:
        jobs, items, consumer, *_ = wishes(run_time_s=45.0, tries=7)
        await provision(js, jobs)
        with pytest.raises(NoQueueError, match=r"^queue not found"):
            await join(js, QUEUE)
        await provision(js, items)
        with pytest.raises(NoQueueError, match=r"^queue consumer not found"):
            await join(js, QUEUE)
        await provision(js, consumer)
        terms = await join(js, QUEUE)
        assert (terms.run_time_s, terms.concurrency, terms.max_tries) == (45.0, 10, 7)


async def test_a_consumer_that_was_removed_is_told_until_it_is_back(queue: QueueBench) -> None:
    items = await open_items(queue.js, QUEUE)
    consumer = f"{names.queue_stream(QUEUE)}.{names.CONSUMER}"
    await queue.js.api(f"CONSUMER.DELETE.{consumer}", {}, msgspec.Raw)
    assert await items.next() is None
    assert items.fault.startswith("queue consumer not found")
    await provision(queue.js, *(wish for wish in wishes() if isinstance(wish, ConsumerWish)))
    await queue.put()
    assert await items.next() is not None
    assert items.fault == ""
    await items.close()
