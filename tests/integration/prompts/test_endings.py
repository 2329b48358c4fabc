"""Every end of a run that is no answer: cancelled, drained, stopped, out of budget, failed."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.errors import (
    AgentUnavailableError,
    NoRespondersError,
    ProviderError,
)
from fisk_ai.serving.contract import ChannelDoneError, Outcome
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, Hold, error_of, model, prompt, resume, text_of
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


async def test_a_cancel_stops_at_the_next_boundary_and_a_resume_goes_on(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool])
    client, request, caller = bench.client(), prompt(), RecordingCaller()
    run = asyncio.create_task(client.run(request, caller))
    await hold.begun.wait()
    assert await client.cancel(request.request, "enough")
    assert await client.cancel(request.request)
    hold.go.set()
    end = error_of(await run)
    assert (end.code, end.stop_reason) == ("suspended", "suspended")
    assert end.usage == m.UsageCounts(input_tokens=1, output_tokens=1, llm_calls=1, tool_calls=1)
    resumed = await client.run(resume(caller.token), RecordingCaller())
    assert text_of(resumed) == "Fine."


async def test_a_cancel_right_after_the_ack_is_taken(bench: Bench) -> None:
    await bench.serve(model(say("Fine.")), prompts={"workers": 1})
    client, request = bench.client(), prompt()

    class Eager(RecordingCaller):
        async def on_ack(self, ack: m.Ack) -> None:
            await RecordingCaller.on_ack(self, ack)
            self.taken = await client.cancel(request.request)

    end = await client.run(request, Eager())
    assert isinstance(end.terminal, m.Result | m.ErrorTerminal)
    assert not await client.cancel(request.request)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "the cancel is not a valid v1 message"),
        (codec.encode(prompt()), "the cancel path carries cancel messages"),
    ],
)
async def test_what_is_no_cancel_is_refused_and_so_tells_that_the_task_is_alive(
    bench: Bench, body: bytes, complaint: str
) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )
    request = prompt()
    run = asyncio.create_task(bench.client().run(request, RecordingCaller()))
    await hold.begun.wait()
    subject = subjects.cancel("billing", request.request)
    reply = await bench.caller.request(subject, body, timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[0] == "400"
    assert reply.refusal[1].startswith(complaint)
    hold.go.set()
    assert text_of(await run) == "Fine."
    with pytest.raises(NoRespondersError):
        await bench.caller.request(subject, body, timeout_s=5)


async def test_a_drain_parks_the_running_turn_and_refuses_the_next(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[tool], prompts={"workers": 2}
    )
    run = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    await hold.begun.wait()
    await serving.server.release()
    with pytest.raises(AgentUnavailableError):
        await bench.client().run(prompt(), RecordingCaller())
    hold.go.set()
    assert error_of(await run).code == "suspended"
    await serving.ended()


async def test_a_task_that_nobody_took_is_refused_when_its_channel_closes(bench: Bench) -> None:
    channel = await bench.channel(bench.config(prompts={"workers": 3}))
    assert (channel.name, channel.concurrency()) == ("a2a/prompts", 3)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    await asyncio.wait_for(caller.acked.wait(), 5)
    await channel.close()
    assert (error_of(await run).code, caller.acks[0].accepted) == ("draining", True)
    await channel.close()
    for _ in range(2):
        with pytest.raises(ChannelDoneError):
            await channel.next()


async def test_a_hard_stop_is_told_as_one(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    serving = await bench.serve(model(call(("u1", "ls"))), tools=[tool])
    run = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    await hold.begun.wait()
    await serving.server.release()
    await serving.server.cancel_runs()
    assert (error_of(await run).code, error_of(await run).stop_reason) == ("canceled", "canceled")
    await serving.ended()


async def test_the_lower_of_both_budgets_bounds_the_conversation(bench: Bench) -> None:
    await bench.serve(
        model(say("A"), say("B"), say("C")),
        llm={"model": "m", "budget": {"max_tokens": 500}},
    )
    bounds: list[int] = []
    for asked in (0, 40, 900):
        caller = RecordingCaller()
        await bench.client().run(prompt(budget=m.Budget(max_tokens=asked)), caller)
        bounds.append(caller.acks[0].max_tokens)
    assert bounds == [500, 40, 500]


async def test_a_spent_budget_ends_the_conversation_in_its_own_code(bench: Bench) -> None:
    await bench.serve(model(call(("u1", "ls"))), tools=[FakeTool(name="ls")])
    request = prompt(budget=m.Budget(max_tokens=1))
    end = error_of(await bench.client().run(request, RecordingCaller()))
    assert (end.code, end.stop_reason) == ("budget_exhausted", "budget_exhausted")
    assert "llm.budget.max_tokens" in end.error


async def test_a_model_that_is_overloaded_is_told_apart_and_can_be_resumed(bench: Bench) -> None:
    overloaded = ProviderError("the model is overloaded", failure="overloaded")
    await bench.serve(model(overloaded, say("Fine.")))
    client = bench.client()
    end = await client.run(prompt(), RecordingCaller())
    assert (error_of(end).code, error_of(end).stop_reason) == ("provider_busy", "error")
    assert text_of(await client.run(resume(end.token), RecordingCaller())) == "Fine."


@pytest.mark.parametrize(
    ("outcome", "code", "text"),
    [
        (Outcome(id="w", abandoned=True), "not_started", "send again"),
        (Outcome(id="w", crashed=True), "crashed", "the run crashed"),
        (Outcome(id="w", canceled=True), "canceled", "the worker stopped the run"),
        (Outcome(id="w", rejected=True), "rejected", "refused"),
        (Outcome(id="w"), "failed", "neither an outcome nor an error"),
    ],
)
async def test_what_became_of_accepted_work_is_told_once(
    bench: Bench, outcome: Outcome, code: str, text: str
) -> None:
    channel = await bench.channel(bench.config())
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    work = await asyncio.wait_for(channel.next(), 5)
    await work.done(outcome)
    await work.done(Outcome(id="w", reason="completed", text="again"))
    end = error_of(await run)
    assert (end.code, end.sequence, caller.acks[0].sequence) == (code, 2, 1)
    assert text in end.error
    await channel.close()


async def test_every_admission_refusal_is_an_ack_and_an_error_with_its_code(bench: Bench) -> None:
    channel = await bench.channel(bench.config(prompts={"workers": 2}))
    client, request, caller = bench.client(), prompt(token="T1"), RecordingCaller()
    first = asyncio.create_task(client.run(request, caller))
    work = await asyncio.wait_for(channel.next(), 5)
    for code, refused in (
        ("duplicate_request", prompt(request=request.request)),
        ("conversation_busy", prompt(token="T1")),
    ):
        told = RecordingCaller()
        end = error_of(await client.run(refused, told))
        assert (end.code, end.stop_reason, end.sequence) == (code, "error", 2)
        assert (told.acks[0].accepted, told.acks[0].reason) == (False, end.error)
    second = asyncio.create_task(client.run(prompt(), RecordingCaller()))
    other = await asyncio.wait_for(channel.next(), 5)
    assert error_of(await client.run(prompt(), RecordingCaller())).code == "capacity"
    for each in (work, other):
        await each.done(Outcome(id=each.id, reason="completed", text="Fine.", follow_up_taken=True))
    assert [text_of(await first), text_of(await second)] == ["Fine.", "Fine."]
    await channel.close()
