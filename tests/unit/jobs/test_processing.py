"""Each row of what becomes of an item, against a real broker."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fisk_ai.jobs import names
from fisk_ai.jobs.backoff import Backoff
from fisk_ai.jobs.job import Job
from fisk_ai.jobs.processing import (
    LeaseOverError,
    RetryJobError,
    TerminateJobError,
    Try,
    item_of,
)
from fisk_ai.jobs.store import Entry
from fisk_ai.testing.job_queue import QUEUE, QueueBench, Said, running_queue
from fisk_ai.text.clock import rfc3339, rfc3339_now
from fisk_ai.text.gojson import RawJSON

pytestmark = pytest.mark.integration

PAST = rfc3339(1)
PARENT = Job(id="parent", type="t", created=rfc3339_now(), state="complete")


async def refuse(tried: Try) -> Said:
    del tried
    raise TerminateJobError("the work was refused")


async def try_later(tried: Try) -> Said:
    del tried
    raise RetryJobError("not now")


async def test_a_job_that_was_done_is_complete_and_its_item_is_gone(queue: QueueBench) -> None:
    await queue.put(last_err="before")
    await queue.process()
    job = await queue.job()
    assert (job.state, job.tries, job.last_err) == ("complete", 1, "")
    assert job.result is not None
    stored = msgspec.json.decode(job.result)
    assert stored["payload"] == "done"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", stored["completed"])
    assert await queue.items() == 0


@pytest.mark.parametrize(
    "record", [b"{", b"\xff", b"[]", b'{"id":"one","tries":1.5}', b'{"id":"two","type":"t"}']
)
async def test_a_record_that_no_try_could_read_keeps_no_place_of_its_queue(
    queue: QueueBench, record: bytes
) -> None:
    await queue.put()
    await queue.js.publish(names.job_subject("one"), record)
    await queue.process()
    assert await queue.items() == 0
    stored = await queue.js.newest(names.JOBS_STREAM, names.job_subject("one"))
    assert stored is not None
    assert stored.body == record


async def test_a_job_is_active_and_its_try_not_counted_while_it_is_at_work(
    queue: QueueBench,
) -> None:
    await queue.put()
    seen: list[Job] = []

    async def look(tried: Try) -> Said:
        del tried
        seen.append(await queue.job())
        return Said()

    await queue.process(look)
    assert (seen[0].state, seen[0].tries, seen[0].tried != "") == ("active", 0, True)
    assert queue.tries[0].entry.job.tries == 1


async def test_a_job_that_is_terminated_is_never_delivered_again(queue: QueueBench) -> None:
    await queue.put()
    await queue.process(refuse)
    job = await queue.job()
    assert (job.state, job.tries) == ("terminated", 1)
    assert job.last_err == "terminate task: the work was refused"
    assert await queue.items() == 0


async def test_a_job_that_failed_waits_for_its_next_try(queue: QueueBench) -> None:
    await queue.put()
    await queue.process(try_later)
    job = await queue.job()
    assert (job.state, job.tries, job.last_err) == ("retry", 1, "not now")
    await queue.process()
    assert ((await queue.job()).state, (await queue.job()).tries) == ("complete", 2)
    assert [tried.deliveries for tried in queue.tries] == [1, 2]


async def test_the_next_try_comes_no_sooner_than_its_backoff(queue: QueueBench) -> None:
    await queue.put()
    await queue.process(try_later, backoff=Backoff(1, 30.0, 30.0, 1.0))
    assert await queue.deliver(within_s=0.3) is None
    assert (await queue.items(), await queue.pending()) == (1, 1)


async def test_a_bug_in_a_handler_is_one_failed_try_that_tells_nothing_of_it(
    queue: QueueBench,
) -> None:
    await queue.put()

    async def fail(tried: Try) -> Said:
        raise ValueError("secret")

    await queue.process(fail)
    job = await queue.job()
    assert job.state == "retry"
    assert "secret" not in job.last_err


async def test_a_job_of_another_type_is_tried_again_in_the_engines_words(
    queue: QueueBench,
) -> None:
    await queue.put(type="mail:send")
    await queue.process()
    job = await queue.job()
    assert (job.state, job.last_err) == ("retry", 'no handler for task type "mail:send"')
    assert queue.tries == []


async def test_a_type_that_begins_with_ours_is_ours(queue: QueueBench) -> None:
    await queue.put(type="fisk-ai:run2")
    await queue.process()
    assert (await queue.job()).state == "complete"


async def test_the_last_try_that_the_queue_allows_expires_the_job(tmp_path: Path) -> None:
    async with running_queue(tmp_path, tries=2) as queue:
        await queue.put()
        await queue.process(try_later)
        assert (await queue.job()).state == "retry"
        await queue.process(try_later)
        job = await queue.job()
        assert (job.state, job.tries, job.last_err) == ("expired", 2, "not now")
        assert await queue.deliver(within_s=0.2) is None


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"job":""}', b'{"job":1}', b"\xff", b'{"job":null}']
)
async def test_an_item_that_names_no_job_is_removed(queue: QueueBench, body: bytes) -> None:
    assert item_of(body) == ""
    await queue.js.publish(names.item_subject(QUEUE, "odd"), body)
    await queue.process()
    assert await queue.items() == 0


def test_the_kind_of_an_item_is_not_asked() -> None:
    assert item_of(b'{"kind":7,"job":"one","more":1}') == "one"


async def test_an_item_whose_job_is_gone_is_removed(queue: QueueBench) -> None:
    await queue.put()
    await queue.store.delete("one")
    await queue.process()
    assert await queue.items() == 0


async def test_a_job_that_is_at_work_elsewhere_is_left_alone(queue: QueueBench) -> None:
    await queue.put()
    entry = await queue.store.load("one")
    await queue.store.save(entry, state="active", tried=rfc3339_now())
    await queue.process()
    assert ((await queue.job()).state, queue.tries) == ("active", [])
    assert (await queue.items(), await queue.pending()) == (1, 1)


@pytest.mark.parametrize("state", ["complete", "expired", "unreachable"])
async def test_the_item_of_a_job_that_is_over_is_removed(queue: QueueBench, state: str) -> None:
    await queue.put(state=state)
    await queue.process()
    assert (await queue.items(), queue.tries) == (0, [])
    assert (await queue.job()).state == state


@pytest.mark.parametrize(
    "members", [{"deadline": PAST}, {"tries": 10, "max_tries": 10}], ids=["deadline", "tries"]
)
async def test_a_job_out_of_time_or_tries_expires_and_its_next_delivery_ends_it(
    tmp_path: Path, members: dict[str, object]
) -> None:
    async with running_queue(tmp_path, run_time_s=0.5) as queue:
        await queue.put(**members)
        await queue.process()
        assert ((await queue.job()).state, await queue.items()) == ("expired", 1)
        await queue.process()
        assert (await queue.items(), queue.tries) == (0, [])


@pytest.mark.parametrize("state", ["terminated", "queue_error", ""])
async def test_an_item_that_still_comes_of_a_job_that_was_given_up_runs(
    queue: QueueBench, state: str
) -> None:
    await queue.put(state=state)
    await queue.process()
    assert (await queue.job()).state == "complete"


async def test_an_active_job_whose_worker_died_runs_again(queue: QueueBench) -> None:
    await queue.put()
    entry = await queue.store.load("one")
    await queue.store.save(entry, state="active", tried=PAST)
    await queue.process()
    assert (await queue.job()).state == "complete"


async def test_who_finds_the_record_changed_while_at_work_says_nothing_more(
    queue: QueueBench,
) -> None:
    await queue.put()

    async def overtaken(tried: Try) -> Said:
        await queue.store.save(tried.entry, last_err="theirs")
        return Said()

    await queue.process(overtaken)
    job = await queue.job()
    assert (job.state, job.last_err, job.result) == ("active", "theirs", None)
    assert (await queue.items(), await queue.pending()) == (1, 1)
    assert queue.tries[0].lease.lost.is_set()


async def test_a_lease_that_is_over_leaves_record_and_item_to_others(queue: QueueBench) -> None:
    await queue.put()

    async def lost(tried: Try) -> Said:
        tried.lease.give_up()
        raise LeaseOverError("over")

    await queue.process(lost)
    assert ((await queue.job()).state, await queue.pending()) == ("active", 1)


@pytest.mark.parametrize("limit", ["broker", "stream"])
async def test_an_answer_too_large_for_the_broker_or_the_stream_is_stored_in_its_short_form(
    queue: QueueBench, limit: str
) -> None:
    await queue.put()
    room = queue.js.connection.max_payload
    if limit == "stream":
        room = 20_000
        await queue.change(names.JOBS_STREAM, max_msg_size=room)

    async def long(tried: Try) -> Said:
        return Said(json=b'"' + b"x" * room + b'"')

    await queue.process(long)
    job = await queue.job()
    assert job.state == "complete"
    assert job.result is not None
    assert msgspec.json.decode(job.result)["payload"] == "too large"
    assert await queue.items() == 0


async def test_an_answer_that_could_not_be_stored_leaves_the_item(queue: QueueBench) -> None:
    await queue.put()

    async def broken(tried: Try) -> Said:
        await queue.js.api(f"STREAM.DELETE.{names.JOBS_STREAM}", {}, msgspec.Raw)
        return Said()

    await queue.process(broken)
    assert (await queue.items(), await queue.pending()) == (1, 1)


async def test_a_try_is_settled_once_its_record_and_item_are(queue: QueueBench) -> None:
    await queue.put()
    seen: list[asyncio.Event] = []

    async def keep(tried: Try) -> Said:
        seen.append(tried.settled)
        assert not tried.settled.is_set()
        return Said()

    await queue.process(keep)
    assert seen[0].is_set()


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("expired", "task dependencies failed: task parent is expired"),
        ("terminated", "task dependencies failed: task parent is terminated"),
        ("queue_error", "task dependencies failed: task parent is queue_error"),
        ("", "task dependencies failed: task parent is unknown"),
        (None, "task dependencies failed: task not found: parent"),
    ],
)
async def test_a_job_whose_parent_failed_never_runs(
    queue: QueueBench, state: str | None, said: str
) -> None:
    if state is not None:
        await queue.keep(replace(PARENT, state=state))
    await queue.put(state="blocked", dependencies=("parent",))
    await queue.process()
    job = await queue.job()
    assert (job.state, job.last_err, queue.tries) == ("unreachable", said, [])
    assert await queue.items() == 0


@pytest.mark.parametrize("state", ["new", "active", "retry", "blocked", "unreachable"])
async def test_a_job_whose_parent_is_not_over_waits(queue: QueueBench, state: str) -> None:
    await queue.keep(replace(PARENT, state=state))
    await queue.put(state="blocked", dependencies=("parent",))
    await queue.process()
    assert ((await queue.job()).state, queue.tries) == ("blocked", [])
    assert (await queue.items(), await queue.pending()) == (1, 1)


async def test_a_failed_parent_counts_before_one_that_is_not_over(queue: QueueBench) -> None:
    await queue.keep(replace(PARENT, state="new"))
    await queue.put(state="blocked", dependencies=("parent", "missing"))
    await queue.process()
    assert (await queue.job()).state == "unreachable"


async def test_a_parent_that_cannot_be_read_is_waited_for(queue: QueueBench) -> None:
    await queue.js.publish(names.job_subject("parent"), b"odd")
    await queue.put(state="blocked", dependencies=("parent",))
    await queue.process()
    assert ((await queue.job()).state, queue.tries) == ("blocked", [])


async def test_a_job_runs_with_the_results_of_its_parents_where_it_wants_them(
    queue: QueueBench,
) -> None:
    for name in ("b", "a"):
        result = RawJSON(b'{"payload":"%s","completed":"2026-01-01T00:00:00Z"}' % name.encode())
        await queue.store.save(Entry(replace(PARENT, id=name, result=result)))
    await queue.put(state="blocked", dependencies=("b", "a"), load_dependencies=True)
    await queue.process()
    given = queue.tries[0].entry.job.dependency_results
    assert given is not None
    assert [(key, value["payload"]) for key, value in msgspec.json.decode(given).items()] == [
        ("a", "a"),
        ("b", "b"),
    ]
