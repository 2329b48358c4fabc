"""``fisk-ai job`` and ``fisk-ai provision`` typed by a person, with real workers of a queue."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from fisk_ai.a2a.messages import Budget, Sender
from fisk_ai.a2a.queued import request_in
from fisk_ai.bus.broker import Broker
from fisk_ai.testing.agent import call
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.jobs import JobBench
from fisk_ai.testing.workshop import Typed, Types, Workshop, typing_in

pytestmark = pytest.mark.integration

CONFIG = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{jobs: {{}}}}}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
"""
NO_FLAG = ("--no-operator",)


@pytest.fixture
async def shop(bench: JobBench, queue_broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    del bench  # its storage is what is worked on
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory, [FakeCommand(path="report", output="3 nodes, none failed\n")]
    )
    found = Workshop(directory, queue_broker.url_with_credentials, application, state="")
    found.write("agent.yaml", CONFIG.format(application=application.path))
    found.write("script.yaml", "turns: [{call: [{tool: report}]}, {say: All is well.}]\n")
    yield found
    await found.close()


@pytest.fixture
def fisk(shop: Workshop) -> Types:
    """Types commands that reach the broker, with the configuration of the agent."""
    types = typing_in(shop.directory)

    async def reaching(*words: str, **environ: str) -> Typed:
        return await types(*words, **{"FISK_AI_NATS_URL": shop.url, "USER": "ops", **environ})

    return reaching


AGENT = ("--config", "agent.yaml")


async def test_a_prompt_is_queued_run_and_its_answer_printed(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    worker = await shop.start(*NO_FLAG)
    assert worker.said[0]["ready"]
    done = await fisk("job", "submit", "are the", "nodes well", "--id", "n:1", "--wait", *AGENT)
    assert (done.code, done.out, done.err) == (0, "All is well.\n", "job n:1\n")
    shown = await fisk("job", "show", "n:1", *AGENT)
    assert shown.code == 0
    lines = [line.strip() for line in shown.out.splitlines()]
    assert lines[0] == "Job n:1:"
    for line in ("Caller: ops", "State: complete", "Queue: FISK_AI", "Tries: 1 of 10"):
        assert line in lines
    assert lines[-3:] == ["Answer:", "", "All is well."]
    assert "are the nodes well" in lines
    session = next(line for line in lines if line.startswith("Session: ")).split()[1]
    assert (await bench.runs.load(session)).status == "completed"
    as_json = json.loads((await fisk("job", "show", "n:1", "--json")).out)
    assert (as_json["state"], as_json["session"], as_json["caller"]) == ("complete", session, "ops")
    assert as_json["result"]["text"] == "All is well."
    assert as_json["prompt"] == "are the nodes well"


async def test_jobs_are_listed_newest_first_filtered_and_cut(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    assert (await fisk("job", "ls")).out == "No jobs\n"
    for name in ("a", "b", "c"):
        await bench.submit(f"do {name}", job_id=name)
    listed = await fisk("job", "ls")
    assert re.findall(r"│ (\w) +│ new", listed.out) == ["c", "b", "a"]
    assert "0 of 10" in listed.out
    assert "do a" in listed.out
    cut = await fisk("job", "ls", "--limit", "1")
    assert (re.findall(r"│ (\w) +│ new", cut.out), cut.err) == (
        ["c"],
        "more jobs: pass --limit 3\n",
    )
    filtered = await fisk("job", "ls", "--state", "complete", "--queue", "FISK_AI")
    assert filtered.out == "No jobs\n"


async def test_a_second_submission_under_an_id_is_none(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    first = await bench.submit("first", job_id="a")
    again = await fisk("job", "submit", "second", "--id", "a")
    assert (again.code, again.out) == (0, "a\n")
    assert again.err == "job a was submitted before; nothing was stored\n"
    assert await bench.queue.job("a") == first


async def test_what_a_job_may_cost_and_until_when_is_stored_with_it(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    flags = ("--tries", "3", "--deadline", "1h", "--max-iterations", "2", "--max-tokens", "9")
    done = await fisk("job", "submit", "x", *flags, USER="not a name")
    job = await bench.queue.job(done.out.strip())
    request = request_in(job)
    assert request is not None
    assert (job.max_tries, request.sender) == (3, Sender(name="fisk-ai"))
    assert request.budget == Budget(max_tokens=9, max_iterations=2)
    assert (request.stream, request.sequence) == (False, 0)
    assert request.id == request.request == request.conversation
    assert job.deadline > job.created
    moment = "2099-01-31T12:00:00.5+02:00"
    done = await fisk("job", "submit", "x", "--deadline", moment)
    assert (await bench.queue.job(done.out.strip())).deadline == moment


async def test_watching_tells_each_state_until_the_end_and_a_retry_goes_where_the_job_was(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    await bench.submit(job_id="a", deadline="2020-01-01T00:00:00Z")
    watching = asyncio.create_task(fisk("job", "watch", "a"))
    await bench.serve()
    watched = await watching
    assert watched.code == 1
    assert watched.out.splitlines()[-1] == "a expired (try 0 of 10)"
    again = await fisk("job", "retry", "a")
    assert (again.code, again.out) == (0, "job a is queued in FISK_AI again\n")


async def test_waiting_for_a_job_that_ends_without_an_answer_says_why(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    await bench.serve(RuntimeError("secret"), call(("u1", "ls")))
    crashed = await fisk("job", "submit", "x", "--wait", "--id", "a")
    assert (crashed.code, crashed.out) == (1, "")
    said = "job a terminated (try 1 of 10): terminate task: the run crashed\n"
    assert crashed.err.endswith(said)
    failed = await fisk("job", "submit", "x", "--wait", "--id", "b", "--max-iterations", "1")
    assert (failed.code, failed.out) == (1, "")
    assert "iteration" in failed.err
    shown = await fisk("job", "show", "b")
    assert "Error (max_iterations):" in shown.out


async def test_all_jobs_can_be_watched_until_an_interrupt(bench: JobBench, shop: Workshop) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "fisk_ai.cli", "job", "watch"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"FISK_AI_NATS_URL": shop.url, "HOME": str(shop.directory)},
    )
    assert process.stdout is not None
    line = asyncio.ensure_future(process.stdout.readline())
    number = 0
    while not line.done():
        number += 1
        await bench.submit(job_id=f"w{number}")
    process.terminate()
    await process.wait()
    assert re.fullmatch(rb"w\d+ new \(try 0\)\n", line.result())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nowhere"), "task not found: nowhere"),
        (("submit", "x", "--queue", "NOWHERE"), "queue not found: NOWHERE"),
    ],
)
async def test_what_cannot_be_found_is_refused_in_one_sentence(
    shop: Workshop, fisk: Types, words: tuple[str, ...], said: str
) -> None:
    done = await fisk("job", *words)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


async def test_without_storage_the_command_that_makes_it_is_named(
    bench: JobBench, shop: Workshop, fisk: Types
) -> None:
    await bench.queue.js.api("STREAM.DELETE.CHORIA_AJ_TASKS", {}, msgspec.Raw)
    done = await fisk("job", "submit", "x")
    assert (done.code, done.out) == (1, "")
    assert "fisk-ai provision --apply" in done.err


async def test_a_worker_without_its_queue_does_not_start_and_says_what_is_missing(
    shop: Workshop,
) -> None:
    config = shop.directory / "agent.yaml"
    config.write_text(config.read_text().replace("jobs: {}", "jobs: {queue: OTHER}"))
    worker = await shop.start(*NO_FLAG, environ={"FISK_AI_START_TIMEOUT": "1s"})
    assert worker.error.startswith(
        'building the jobs endpoint: connecting to queue "OTHER": queue not found; create it'
    )


async def test_what_a_queue_needs_is_printed_as_commands(shop: Workshop, fisk: Types) -> None:
    printed = (await fisk("provision", "--replicas", "3", *AGENT)).out.splitlines()
    jobs, items, consumer, settings, elections = printed[3::2]
    assert jobs == (
        "nats stream add CHORIA_AJ_TASKS --description 'Choria Async Jobs Tasks' --subjects"
        " 'CHORIA_AJ.T.*' --storage file --retention limits --max-msgs-per-subject 1 --max-age 72h"
        " --replicas 3 --discard old --metadata=fisk-ai-layout=1 --defaults"
    )
    assert items == (
        "nats stream add CHORIA_AJ_Q_FISK_AI --description 'Choria Async Jobs Work Queue'"
        " --subjects 'CHORIA_AJ.Q.FISK_AI.>' --storage file --retention work"
        " --max-msgs-per-subject 1 --discard new --replicas 3 --metadata=fisk-ai-layout=1"
        " --defaults"
    )
    assert consumer == (
        "nats consumer add CHORIA_AJ_Q_FISK_AI WORKERS --pull --ack explicit --wait 60s"
        " --max-pending 10 --max-deliver 10 --deliver all --replay instant --defaults"
    )
    assert (
        settings == "nats kv add CHORIA_AJ_CONFIGURATION --metadata=fisk-ai-layout=1 --replicas 3"
    )
    assert (
        elections
        == "nats kv add CHORIA_AJ_ELECTIONS --ttl 10s --metadata=fisk-ai-layout=1 --replicas 3"
    )


async def test_what_a_queue_needs_is_there_already_after_it_was_made(
    shop: Workshop, fisk: Types
) -> None:
    second = await fisk("provision", "--apply", *AGENT)
    assert (second.code, second.out) == (0, "")
    assert [line.partition(": ")[2] for line in second.err.splitlines()] == ["exists"] * 6
