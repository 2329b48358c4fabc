"""A worker's channel of jobs: what it refuses, runs, stores and leaves to others."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agent_worker.operators.recording import record
from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import Answer, Cancel, ErrorTerminal, Sender, request_header
from fisk_ai.a2a.queued import answer_in, request_in, terminal_in
from fisk_ai.agent.waiting import waiting
from fisk_ai.bus.broker import Broker
from fisk_ai.errors import DeferredError, SetupError, TaskError
from fisk_ai.jobs.job import Job
from fisk_ai.jobs.store import Entry
from fisk_ai.llm.model import TextBlock
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Meta
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import connected
from fisk_ai.testing.job_queue import QUEUE
from fisk_ai.testing.jobs import JobBench, until
from fisk_ai.testing.prompts import GATED, Hold
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text.clock import rfc3339_now

pytestmark = pytest.mark.integration

PREFIX = "terminate task: "


async def put(bench: JobBench, payload: bytes) -> None:
    job = Job(id="one", type="fisk-ai:run", payload=payload, created=rfc3339_now())
    await bench.queue.store.enqueue(Entry(job), QUEUE)


async def test_a_job_is_run_and_its_answer_is_stored_with_it(bench: JobBench) -> None:
    serving = await bench.serve(say("All is well."))
    await bench.submit("Well?", max_iterations=3)
    job = await bench.reaches("complete")
    answer, request = answer_in(job), request_in(job)
    assert request is not None
    assert (answer.text, answer.stop_reason) == ("All is well.", "end_turn")
    assert (answer.request, answer.conversation) == (request.request, request.conversation)
    assert (answer.id != request.id, answer.sequence) == (True, 0)
    assert (answer.sender, answer.recipient) == (Sender(name="billing"), Sender(name="tester"))
    assert answer.usage
    assert answer.usage.llm_calls == 1
    assert TextBlock("Well?") in serving.model.requests[0].messages[0].content
    await until(bench.queue.is_empty)


async def test_the_session_of_a_job_is_named_by_agent_and_job(bench: JobBench) -> None:
    await bench.serve(say("ok"))
    job = await bench.submit()
    await bench.reaches("complete")
    request = request_in(job)
    assert request is not None
    records = await bench.runs.records(bench.session())
    meta = records[0].payload
    assert isinstance(meta, Meta)
    assert (meta.caller, meta.request) == ("tester", request.request)
    assert (meta.conversation_token, bench.session()[:2], len(bench.session())) == ("", "j-", 66)


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"x" * 101, "the payload is 101 bytes, over the 100 byte limit"),
        (b"{}", "the payload is not a valid v1 message"),
        (b'"Well?"', "the payload is not a valid v1 message"),
        (b"", "the payload is not a valid v1 message"),
    ],
)
async def test_a_payload_that_is_no_request_terminates_its_job(
    bench: JobBench, payload: bytes, said: str
) -> None:
    serving = await bench.serve(jobs={"max_payload": 100})
    await put(bench, payload)
    job = await bench.reaches()
    assert (job.state, job.last_err) == ("terminated", PREFIX + said)
    await until(bench.queue.is_empty)
    assert serving.model.requests == []


async def test_another_message_of_the_protocol_is_not_for_a_queue(bench: JobBench) -> None:
    await bench.serve()
    await put(bench, codec.encode(Cancel(**request_header(Sender(name="x"), "billing"))))
    job = await bench.reaches()
    said = "the payload is not a io.choria.fisk-ai.v1.request.prompt message"
    assert (job.state, job.last_err) == ("terminated", PREFIX + said)


async def test_a_run_out_of_iterations_is_complete_and_its_error_is_stored(
    bench: JobBench,
) -> None:
    await bench.serve(call(("u1", "ls")), call(("u2", "ls")))
    await bench.submit(max_iterations=1)
    job = await bench.reaches()
    terminal = terminal_in(job)
    assert (job.state, isinstance(terminal, ErrorTerminal)) == ("complete", True)
    assert isinstance(terminal, ErrorTerminal)
    assert (terminal.stop_reason, terminal.code) == ("max_iterations", "")
    with pytest.raises(TaskError):
        answer_in(job)


async def test_a_budget_of_the_caller_ends_a_run(bench: JobBench) -> None:
    await bench.serve(call(("u1", "ls")), say("never"))
    await bench.submit(max_tokens=1)
    terminal = terminal_in(await bench.reaches())
    assert terminal.stop_reason == "budget_exhausted"


async def test_a_run_that_crashed_terminates_its_job(bench: JobBench) -> None:
    await bench.serve(RuntimeError("secret"))
    await bench.submit()
    job = await bench.reaches()
    assert (job.state, job.last_err) == ("terminated", PREFIX + "the run crashed")


async def test_a_run_that_waits_for_an_answer_terminates_and_goes_on_when_it_is_retried(
    bench: JobBench,
) -> None:
    async def later(raw: bytes) -> str:
        raise DeferredError("secret note")

    tool = FakeTool(name="ask", effect=later)
    serving = await bench.serve(call(("u1", "ask"), ("u2", "ask")), say("Done."), tools=[tool])
    await bench.submit()
    job = await bench.reaches()
    assert job.state == "terminated"
    assert job.last_err == (
        f"{PREFIX}the run is waiting on a deferred tool result; answer session"
        f" {bench.session()} tool_use u1,u2, then retry this task"
    )
    await bench.queue.store.retry("one", QUEUE)
    again = await bench.reaches("terminated")
    assert (again.tries, len(serving.model.requests)) == (2, 1)


async def test_nobody_can_be_asked_so_that_a_gate_denies(bench: JobBench) -> None:
    tool = FakeTool(name="rm", own_tags=GATED)
    await bench.serve(call(("u1", "rm")), say("Not allowed."), tools=[tool])
    await bench.submit()
    assert answer_in(await bench.reaches()).text == "Not allowed."
    assert tool.calls == []


async def test_a_gate_parks_the_job_until_an_operator_decided_and_it_is_tried_again(
    bench: JobBench,
) -> None:
    tool = FakeTool(name="rm", own_tags=GATED)
    park: dict[str, object] = {"approvals": "park"}
    serving = await bench.serve(call(("u1", "rm")), say("Gone."), tools=[tool], jobs=park)
    await bench.submit()
    job = await bench.reaches()
    assert (job.state, tool.calls) == ("terminated", [])
    assert job.last_err == (
        f"{PREFIX}the run is waiting on an operator; approve or deny a call of session"
        f" {bench.session()}, then retry this task"
    )
    records = await bench.runs.records(bench.session())
    (item,) = waiting(records, fold(records))
    approval = Answer(tool_use_id="u1", kind="approve", answer="choice", choice="once")
    await record(bench.runs, bench.session(), item, approval)
    await bench.queue.store.retry("one", QUEUE)
    assert answer_in(await bench.reaches("complete")).text == "Gone."
    assert (len(tool.calls), len(serving.model.requests)) == (1, 2)


async def test_a_drain_parks_the_run_and_another_worker_goes_on_with_it(bench: JobBench) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await bench.serve(call(("u1", "hold")), say("never"), tools=[tool])
    await bench.submit()
    await asyncio.wait_for(hold.begun.wait(), 10)
    await first.server.release()
    hold.go.set()
    await first.ended()
    job = await bench.queue.job()
    said = "the run suspended and left a resumable session"
    assert (job.state, job.last_err, job.tries) == ("retry", said, 1)
    await bench.queue.store.retry("one", QUEUE)
    second = await bench.serve(say("Held."), tools=[tool])
    assert answer_in(await bench.reaches("complete")).text == "Held."
    assert (len(tool.calls), len(second.model.requests)) == (1, 1)


async def test_a_hard_stop_leaves_the_job_to_be_tried_again(bench: JobBench) -> None:
    hold = Hold()
    serving = await bench.serve(call(("u1", "hold")), tools=[FakeTool(name="hold", effect=hold)])
    await bench.submit()
    await asyncio.wait_for(hold.begun.wait(), 10)
    await serving.server.cancel_runs()
    await serving.ended()
    job = await bench.queue.job()
    assert job.state == "retry"
    assert job.last_err.startswith("the run reached no outcome: ")


async def test_a_session_that_another_process_holds_is_left_to_it(bench: JobBench) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    await bench.serve(call(("u1", "hold")), say("Held."), tools=[tool])
    await bench.submit()
    await asyncio.wait_for(hold.begun.wait(), 10)
    await bench.queue.store.retry("one", QUEUE)
    await bench.serve(say("never"), tools=[tool])
    job = await bench.reaches("retry")
    while not job.last_err:
        job = await bench.reaches("retry")
    assert "is taken by another process" in job.last_err
    assert len(tool.calls) == 1
    hold.go.set()


async def test_a_completed_job_that_is_delivered_again_is_answered_from_its_journal(
    bench: JobBench,
) -> None:
    serving = await bench.serve(say("All is well."))
    await bench.submit()
    first = answer_in(await bench.reaches("complete"))
    await bench.queue.store.retry("one", QUEUE)
    await bench.reaches("retry", "active", "complete")
    second = answer_in(await bench.reaches("complete"))
    assert (second.text, second.usage) == (first.text, first.usage)
    assert len(serving.model.requests) == 1


async def test_an_edited_prompt_does_not_end_a_job_that_has_begun(bench: JobBench) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    first = await bench.serve(call(("u1", "hold")), tools=[tool])
    await bench.submit()
    await asyncio.wait_for(hold.begun.wait(), 10)
    await first.server.release()
    hold.go.set()
    await first.ended()
    await bench.queue.store.retry("one", QUEUE)
    await bench.serve(say("Went on."), tools=[tool], system_prompt="be verbose")
    assert answer_in(await bench.reaches("complete")).text == "Went on."


async def test_an_answer_too_large_to_be_stored_is_an_error_that_names_its_session(
    bench: JobBench,
) -> None:
    await bench.queue.change("CHORIA_AJ_TASKS", max_msg_size=20_000)
    await bench.serve(say("x" * 30_000))
    await bench.submit()
    terminal = terminal_in(await bench.reaches("complete"))
    assert isinstance(terminal, ErrorTerminal)
    assert terminal.stop_reason == "error"
    assert bench.session() in terminal.error
    assert terminal.usage


async def test_no_more_jobs_are_taken_at_once_than_there_are_workers(bench: JobBench) -> None:
    hold = Hold()
    tool = FakeTool(name="hold", effect=hold)
    await bench.serve(call(("u1", "hold")), say("a"), say("b"), tools=[tool])
    job = await bench.submit()
    await bench.queue.store.enqueue(Entry(replace(job, id="two", queue="", state="new")), QUEUE)
    await asyncio.wait_for(hold.begun.wait(), 10)
    assert (await bench.queue.pending(), (await bench.queue.job("two")).state) == (1, "new")
    hold.go.set()
    await bench.reaches("complete", job_id="two")


async def test_a_queue_that_is_not_there_keeps_the_worker_from_starting(bench: JobBench) -> None:
    with pytest.raises(SetupError) as refused:
        await bench.serve(jobs={"queue": "NOWHERE"})
    said = str(refused.value)
    assert said.startswith(
        'building the jobs endpoint: connecting to queue "NOWHERE": queue not found; create it'
    )
    assert refused.value.key == "expose.agent.jobs.queue"


async def test_a_closed_connection_is_a_fault_that_ends_the_worker(
    bench: JobBench, queue_broker: Broker
) -> None:
    async with connected(queue_broker) as own:
        serving = await bench.serve(connection=own)
        await own._client.close()  # pyright: ignore[reportPrivateUsage] - as a broker may
        with pytest.raises(Exception, match="closed"):
            await asyncio.wait_for(serving.task, 10)
