"""A prompt that runs: what its caller is told, and the conversation it belongs to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agent_worker.channels.prompts import PromptsChannel
from fisk_ai.a2a import messages as m
from fisk_ai.bus.broker import Broker
from fisk_ai.llm.model import TextBlock
from fisk_ai.serving.contract import Outcome
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Meta
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import connected
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, Hold, error_of, model, names, prompt, text_of
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


async def test_a_prompt_is_narrated_in_order_and_answered(bench: Bench) -> None:
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls")])
    caller = RecordingCaller()
    end = await bench.client().run(prompt(), caller)
    assert text_of(end) == "Fine."
    assert names(caller.blocks) == ["Status", "ToolCall", "ToolResult", "Text"]
    assert isinstance(end.terminal, m.Result)
    assert end.terminal.sequence == 6
    assert end.terminal.usage == m.UsageCounts(
        input_tokens=2, output_tokens=2, llm_calls=2, tool_calls=1
    )
    assert (end.gaps, end.unsent) == (0, ())
    assert end.token == caller.token


async def test_fragments_come_only_when_asked_for(bench: Bench) -> None:
    await bench.serve(model(say("Fine."), say("Fine.")))
    plain, streamed = RecordingCaller(), RecordingCaller()
    await bench.client().run(prompt(), plain)
    await bench.client().run(prompt(deltas=True), streamed)
    assert names(plain.blocks) == ["Text"]
    assert names(streamed.blocks)[-1] == "Text"
    assert set(names(streamed.blocks)[:-1]) == {"TextDelta"}


async def test_a_caller_that_wants_no_stream_gets_the_answer_alone(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool], keepalive_s=0.001)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(stream=False), caller))
    await hold.begun.wait()
    hold.go.set()
    assert text_of(await run) == "Fine."
    assert caller.blocks == []


async def test_a_silent_run_says_that_it_is_running(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    await bench.serve(model(call(("u1", "ls")), say("Fine.")), tools=[tool], keepalive_s=0.01)
    caller = RecordingCaller()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    running = m.StatusBlockEvent(phase="running")
    await hold.begun.wait()
    for _ in range(500):
        if running in caller.blocks:
            break
        await asyncio.sleep(0.01)
    hold.go.set()
    end = await run
    assert running in caller.blocks
    assert end.gaps == 0


async def test_the_session_belongs_to_the_token_and_notes_request_and_caller(
    bench: Bench,
) -> None:
    await bench.serve(model(say("A")))
    request = prompt()
    end = await bench.client().run(request, RecordingCaller())
    records = await bench.store.records(session_id_for_token("billing", end.token))
    meta = records[0].payload
    assert isinstance(meta, Meta)
    assert (meta.request, meta.caller, meta.conversation_token) == (
        request.request,
        "terminal",
        end.token,
    )


async def test_a_conversation_goes_on_with_its_token_right_after_the_terminal(
    bench: Bench,
) -> None:
    serving = await bench.serve(model(say("one"), say("two"), say("three")))
    client = bench.client()
    end = await client.run(prompt("1"), RecordingCaller())
    for text in ("2", "3"):
        end = await client.run(prompt(text, token=end.token), RecordingCaller())
        assert isinstance(end.terminal, m.Result)
    assert text_of(end) == "three"
    assert len(serving.model.requests[-1].messages) == 5


async def test_a_changed_configuration_is_told_and_can_be_forced(bench: Bench) -> None:
    old = await bench.serve(model(say("one")))
    client = bench.client()
    token = (await client.run(prompt(), RecordingCaller())).token
    await old.server.release()
    await old.ended()
    await bench.serve(model(say("two")), system_prompt="be long")
    drifted = await client.run(prompt("more", token=token), RecordingCaller())
    assert error_of(drifted).code == "config_drift"
    forced = await client.run(prompt("more", token=token, force=True), RecordingCaller())
    assert text_of(forced) == "two"


async def test_two_workers_of_one_agent_serve_each_request_once(
    bench: Bench, broker: Broker
) -> None:
    answers = [say(f"{number}") for number in range(20)]
    one = await bench.serve(model(*answers), prompts={"workers": 20})
    async with connected(broker, name="worker two") as second:
        two = await bench.serve(model(*answers), prompts={"workers": 20}, connection=second)
        ends = await asyncio.gather(
            *(bench.client().run(prompt(), RecordingCaller()) for _ in range(10))
        )
        assert all(isinstance(end.terminal, m.Result) for end in ends)
        assert len(one.model.requests) + len(two.model.requests) == 10
        await two.server.release()
        await two.ended()


async def test_the_card_says_what_the_agent_answers(bench: Bench) -> None:
    await bench.serve(model())
    card = await bench.client().card(5)
    assert (card.name, card.version, card.model) == ("billing", "1.2", "m")
    assert card.protocols == (m.NAMESPACE,)


async def test_fragments_and_numbers_of_model_calls_agree(bench: Bench) -> None:
    first = call(("u1", "ls"))
    await bench.serve(
        model(replace(first, content=(TextBlock("Look."), *first.content)), say("Fine.")),
        tools=[FakeTool(name="ls")],
    )
    caller = RecordingCaller()
    await bench.client().run(prompt(deltas=True), caller)
    fragments = [each for each in caller.blocks if isinstance(each, m.TextDeltaBlockEvent)]
    assert [(each.iteration, each.text) for each in fragments] == [(1, "Look."), (2, "Fine.")]
    states = [each for each in caller.blocks if isinstance(each, m.StatusBlockEvent)]
    assert [each.iteration for each in states] == [1]


async def test_a_terminal_counts_the_whole_conversation_and_a_status_one_call(
    bench: Bench,
) -> None:
    await bench.serve(
        model(say("one"), call(("u1", "ls")), say("two")), tools=[FakeTool(name="ls")]
    )
    client, caller = bench.client(), RecordingCaller()
    token = (await client.run(prompt(), RecordingCaller())).token
    end = await client.run(prompt("more", token=token), caller)
    assert end.terminal.usage == m.UsageCounts(
        input_tokens=3, output_tokens=3, llm_calls=3, tool_calls=1
    )
    (status,) = [each for each in caller.blocks if isinstance(each, m.StatusBlockEvent)]
    assert status.usage == m.UsageCounts(input_tokens=1, output_tokens=1)


async def test_the_work_of_a_request_knows_its_callers_trace(bench: Bench) -> None:
    channel = await bench.channel(bench.config())
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    run = asyncio.create_task(bench.client().run(prompt(traceparent=trace), RecordingCaller()))
    work = await asyncio.wait_for(channel.next(), 5)
    assert work.traceparent == trace
    await work.done(Outcome(id=work.id, reason="completed", text="Fine."))
    assert text_of(await run) == "Fine."
    await channel.close()


@pytest.mark.parametrize("human_paced", [True, False])
async def test_whether_a_person_sets_the_pace_is_said_to_the_run(
    bench: Bench,
    human_paced: bool,  # noqa: FBT001 - a column of the table
) -> None:
    service = await bench.caller.service("billing")
    channel = PromptsChannel(
        bench.config(), bench.caller, service, bench.store, human_paced=human_paced
    )
    await channel.start()
    run = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    work = await asyncio.wait_for(channel.next(), 5)
    assert work.human_paced is human_paced
    await work.done(Outcome(id=work.id, reason="completed", text="Fine."))
    assert text_of(await run) == "Fine."
    await channel.close()
