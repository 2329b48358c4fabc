"""Workers and brokers that die while a job runs: nothing is lost, and nothing recorded repeats."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fisk_ai.a2a.queued import answer_in
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.pulling import NANOSECONDS
from fisk_ai.jobs.provisioning import wishes
from fisk_ai.sessions.ids import session_id_for_job
from fisk_ai.sessions.records import Assistant, Claim, ToolResult
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.command import children
from fisk_ai.testing.job_queue import QUEUE
from fisk_ai.testing.jobs import JobBench, until
from fisk_ai.testing.prompts import Hold
from fisk_ai.testing.tools import FakeTool
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = [pytest.mark.integration, pytest.mark.fault]

CONFIG = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{jobs: {{}}}}}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
"""
TWO_CALLS = (
    "turns:\n  - call: [{tool: report, input: {}}, {tool: report, input: {}}]\n"
    '  - say: "All is well."\n'
)
RUN_TIME_S = 2.0


@pytest.fixture
async def shop(bench: JobBench, queue_broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    await lease(bench, RUN_TIME_S)
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="fine"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    found = Workshop(directory, queue_broker.url_with_credentials, application, state="")
    found.write("agent.yaml", CONFIG.format(application=application.path))
    found.write("script.yaml", TWO_CALLS)
    yield found
    found.gate.touch()
    await found.close()


async def lease(bench: JobBench, run_time_s: float, *, tries: int = 10) -> None:
    """Give the queue another lease and number of deliveries."""
    length_ns = int(run_time_s * NANOSECONDS)
    await bench.queue.reconfigure({"ack_wait": length_ns, "max_deliver": tries})


async def start(shop: Workshop, fault: str = "") -> Worker:
    worker = await shop.start("--no-operator", environ={"FISK_AI_FAULT": fault} if fault else {})
    assert worker.said[0]["ready"]
    return worker


SESSION = session_id_for_job("watchman", "one")


async def test_a_killed_workers_job_goes_on_elsewhere_and_no_journaled_turn_is_asked_again(
    bench: JobBench, shop: Workshop
) -> None:
    await bench.submit()
    killed = await start(shop, "journal.append.synced:tool_result=kill")
    assert await killed.ended() < 0
    died = time.monotonic()
    await start(shop)
    job = await bench.reaches("complete")
    assert time.monotonic() - died < RUN_TIME_S + 8.0
    answer = answer_in(job)
    assert answer.text == "All is well."
    assert answer.usage
    assert answer.usage.llm_calls == 2
    payloads = [record.payload for record in await bench.runs.records(SESSION)]
    assert [each.iteration for each in payloads if isinstance(each, Assistant)] == [0, 1]
    results = Counter(each.tool_use_id for each in payloads if isinstance(each, ToolResult))
    assert list(results.values()) == [1, 1]
    assert [each.by for each in payloads if isinstance(each, Claim)] == ["one"]


async def test_an_answer_lost_before_it_was_stored_comes_from_the_journal(
    bench: JobBench, shop: Workshop
) -> None:
    await bench.submit()
    killed = await start(shop, "job.answered=kill")
    assert await killed.ended() < 0
    before = await bench.runs.records(SESSION)
    await start(shop)
    answer = answer_in(await bench.reaches("complete"))
    assert (answer.text, len(await bench.runs.records(SESSION))) == ("All is well.", len(before))
    assert answer.usage
    assert answer.usage.llm_calls == 2


async def test_an_item_left_behind_its_stored_answer_is_removed_without_a_run(
    bench: JobBench, shop: Workshop
) -> None:
    await bench.submit()
    killed = await start(shop, "job.stored=kill")
    assert await killed.ended() < 0
    stored = await bench.queue.job()
    assert stored.state == "complete"
    await start(shop)
    await until(bench.queue.is_empty)
    assert await bench.queue.job() == stored


async def test_a_job_whose_deliveries_are_used_up_runs_when_it_is_retried(
    bench: JobBench, shop: Workshop
) -> None:
    await lease(bench, RUN_TIME_S, tries=1)
    await bench.submit()
    killed = await start(shop, "job.active=kill")
    assert await killed.ended() < 0
    assert await bench.queue.deliver(within_s=RUN_TIME_S + 0.5) is None
    assert (await bench.queue.job()).state == "active"
    await start(shop)
    await bench.queue.store.retry("one", QUEUE)
    assert answer_in(await bench.reaches("complete")).text == "All is well."


async def test_a_worker_cut_off_from_its_broker_ends_run_and_command_before_the_lease_is_over(
    bench: JobBench, shop: Workshop, queue_broker: Broker
) -> None:
    await lease(bench, 4.0)
    shop.write("script.yaml", "turns: [{call: [{tool: hold}]}, {say: never}]\n")
    await bench.submit()
    worker = await start(shop)
    await until_child(worker, there=True)
    cut = time.monotonic()
    await queue_broker.stop()
    await until_child(worker, there=False)
    assert time.monotonic() - cut < 4.0
    assert worker.process.returncode is None


async def until_child(worker: Worker, *, there: bool) -> None:
    async def reached() -> bool:
        found = children(worker.process.pid).values()
        return any(" hold" in line for line in found) is there

    await until(reached)


async def test_a_job_runs_longer_than_its_lease_and_stays_with_its_worker(bench: JobBench) -> None:
    await lease(bench, 0.6)
    hold = Hold()
    await bench.serve(
        call(("u1", "hold")), say("Held."), tools=[FakeTool(name="hold", effect=hold)]
    )
    await bench.submit()
    await asyncio.wait_for(hold.begun.wait(), 10)
    assert await bench.queue.deliver(within_s=1.5) is None
    hold.go.set()
    job = await bench.reaches("complete")
    assert (answer_in(job).text, job.tries) == ("Held.", 1)


async def test_a_worker_that_drains_leaves_its_job_to_the_next_and_exits_cleanly(
    bench: JobBench, shop: Workshop
) -> None:
    shop.write("script.yaml", "turns: [{call: [{tool: hold}]}, {say: Held.}]\n")
    await bench.submit()
    worker = await start(shop)
    await until_child(worker, there=True)
    worker.process.terminate()
    shop.gate.touch()
    assert await worker.ended() == 0
    assert b"the run time of the queue is short" in worker.stderr
    assert (await bench.queue.job()).state == "retry"
    await bench.queue.store.retry("one", QUEUE)
    await start(shop)
    assert answer_in(await bench.reaches("complete")).text == "Held."


async def test_what_comes_after_a_worker_stopped_is_delivered_to_others_at_once(
    bench: JobBench,
) -> None:
    serving = await bench.serve()
    await serving.server.release()
    await bench.submit()
    delivery = await bench.queue.deliver()
    assert delivery is not None
    assert delivery.place.deliveries == 1


def test_the_lease_that_is_proposed_leaves_room_to_end_a_run() -> None:
    consumer = next(wish for wish in wishes(QUEUE, replicas=1) if wish.place.endswith("WORKERS"))
    assert consumer.config["ack_wait"] == 60 * NANOSECONDS
