"""Answers that come after their run has ended: they are the result of the call that asked."""

from __future__ import annotations

import asyncio
import json
from typing import Literal

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import Given
from fisk_ai.bus.broker import Broker
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.broker import connected
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import (
    ASKS,
    GATED,
    Bench,
    Serving,
    absent,
    answer,
    code_of,
    error_of,
    last_results,
    model,
    names,
    person,
    prompt,
    read,
    resume,
    text_of,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

CONFIRM = ("u1", "ask_human_confirm", b'{"question":"Go?"}')
SELECT = ("u1", "ask_human_select", b'{"question":"Which?","options":["red","blue"]}')
INPUT = ("u1", "ask_human_input", b'{"question":"Who?"}')
SECOND = ("u2", "ask_human_input", b'{"question":"Where?"}')
BRIEF: dict[str, object] = {"elicit": True, "elicit_max": "50ms", "workers": 2}
"""Questions that close before anybody answers."""

YES = m.Answer(tool_use_id="u1", kind="confirm", confirmed=True)
NOBODY = "the caller has no operator to answer on its behalf"


async def parked(bench: Bench, *calls: tuple[str, str, bytes]) -> tuple[Serving, str]:
    """Serve an agent whose first run waits for the answers of ``calls``; returns its token."""
    serving = await bench.serve(model(call(*calls), say("Done.")), prompts=BRIEF, harness=ASKS)
    caller = absent()
    end = await bench.client().run(prompt(), caller)
    assert (error_of(end).code, error_of(end).stop_reason) == ("deferred", "suspended")
    waiting = ",".join(each[0] for each in calls)
    assert f"tool_use {waiting};" in error_of(end).error
    return serving, caller.token


@pytest.mark.parametrize(
    ("asked", "given", "result"),
    [
        (CONFIRM, YES, '{"confirmed":true}'),
        (CONFIRM, m.Answer(tool_use_id="u1", kind="confirm"), '{"confirmed":false}'),
        (SELECT, m.Answer(tool_use_id="u1", kind="select", value="blue"), '{"selected":"blue"}'),
        (INPUT, m.Answer(tool_use_id="u1", kind="input", value="Ann"), '{"value":"Ann"}'),
        (INPUT, m.Answer(tool_use_id="u1", kind="input", value=""), '{"value":""}'),
        (INPUT, m.Answer(tool_use_id="u1", kind="input", answer="value"), '{"value":""}'),
        (
            CONFIRM,
            m.Answer(tool_use_id="u1", kind="confirm", no_operator=True),
            f'{{"confirmed":false,"reason":"{NOBODY}"}}',
        ),
        (
            SELECT,
            m.Answer(tool_use_id="u1", kind="select", answer="no_operator"),
            f'{{"selected":null,"reason":"{NOBODY}"}}',
        ),
        (
            INPUT,
            m.Answer(tool_use_id="u1", kind="input", no_operator=True),
            f'{{"value":null,"reason":"{NOBODY}"}}',
        ),
    ],
)
async def test_a_late_answer_is_the_result_that_the_tool_would_have_given(
    bench: Bench, asked: tuple[str, str, bytes], given: m.Answer, result: str
) -> None:
    serving, token = await parked(bench, asked)
    end = await bench.client().run(answer(token, given), RecordingCaller())
    assert text_of(end) == "Done."
    assert last_results(serving.model) == {"u1": result}


async def test_several_questions_are_answered_one_after_another(bench: Bench) -> None:
    serving, token = await parked(bench, CONFIRM, SECOND)
    client = bench.client()
    half = error_of(await client.run(answer(token, YES), RecordingCaller()))
    assert half.code == "deferred"
    assert "tool_use u2;" in half.error
    again = await client.run(answer(token, YES), RecordingCaller())
    assert code_of(again) == "already_answered"
    other = m.Answer(tool_use_id="u2", kind="input", value="Here")
    assert text_of(await client.run(answer(token, other), RecordingCaller())) == "Done."
    assert last_results(serving.model) == {"u1": '{"confirmed":true}', "u2": '{"value":"Here"}'}


async def test_an_answer_of_another_kind_leaves_the_call_open(bench: Bench) -> None:
    serving, token = await parked(bench, CONFIRM)
    client = bench.client()
    wrong = m.Answer(tool_use_id="u1", kind="select", value="red")
    assert code_of(await client.run(answer(token, wrong), RecordingCaller())) == "deferred"
    approval = m.Answer(tool_use_id="u1", kind="approve", choice="once")
    assert code_of(await client.run(answer(token, approval), RecordingCaller())) == "deferred"
    assert len(serving.model.requests) == 1
    assert text_of(await client.run(answer(token, YES), RecordingCaller())) == "Done."


async def test_an_approval_of_a_call_that_nobody_made_sets_nothing_going(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    serving = await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts=BRIEF)
    first, second = absent(), absent()
    await bench.client().run(prompt(), first)
    other = m.Answer(tool_use_id="u9", kind="approve", choice="always")
    assert code_of(await bench.client().run(answer(first.token, other), second)) == "unknown_call"
    assert (second.questions, tool.calls, len(serving.model.requests)) == ([], [], 1)


async def test_an_answer_for_a_call_that_nobody_made_changes_nothing(bench: Bench) -> None:
    serving, token = await parked(bench, CONFIRM)
    client = bench.client()
    other = m.Answer(tool_use_id="u9", kind="confirm", confirmed=True)
    assert code_of(await client.run(answer(token, other), RecordingCaller())) == "unknown_call"
    assert code_of(await client.run(resume(token), RecordingCaller())) == "deferred"
    assert len(serving.model.requests) == 1


async def test_an_answer_of_an_unknown_conversation_says_so(bench: Bench) -> None:
    await bench.serve(model(), harness=ASKS)
    end = await bench.client().run(answer("T9", YES), RecordingCaller())
    assert code_of(end) == "unknown_conversation"


async def test_a_worker_that_never_asked_takes_the_answer(bench: Bench, broker: Broker) -> None:
    first, token = await parked(bench, CONFIRM)
    await first.server.release()
    await first.ended()
    async with connected(broker, name="worker two") as second:
        other = await bench.serve(
            model(say("Done there.")), prompts=BRIEF, harness=ASKS, connection=second
        )
        end = await bench.client().run(answer(token, YES), RecordingCaller())
        assert text_of(end) == "Done there."
        assert last_results(other.model) == {"u1": '{"confirmed":true}'}
        await other.server.release()
        await other.ended()


async def test_a_decision_handed_back_can_be_sent_as_it_is(bench: Bench) -> None:
    serving = await bench.serve(
        model(call(SELECT), say("Done.")), prompts={"elicit": True}, harness=ASKS
    )
    client, request = bench.client(), prompt()

    async def slow(question: m.AnyQuestion) -> Given:
        assert await client.cancel(request.request)
        return 1

    caller = RecordingCaller(person=slow)
    end = await client.run(request, caller)
    assert code_of(end) == "deferred"
    (unsent,) = end.unsent
    assert text_of(await client.run(answer(caller.token, unsent), RecordingCaller())) == "Done."
    assert last_results(serving.model) == {"u1": '{"selected":"blue"}'}


async def test_of_two_answers_at_the_same_time_one_is_told_that_it_came_second(
    bench: Bench, broker: Broker
) -> None:
    _, token = await parked(bench, CONFIRM)
    async with connected(broker, name="worker two") as second:
        other = await bench.serve(
            model(say("Done there.")), prompts=BRIEF, harness=ASKS, connection=second
        )
        client = bench.client()
        ends = await asyncio.gather(
            *(client.run(answer(token, YES), RecordingCaller()) for _ in range(2))
        )
        codes = sorted(code_of(end) for end in ends)
        assert codes[0] == ""
        assert codes[1] in ("conversation_busy", "already_answered", "failed")
        await other.server.release()
        await other.ended()


async def test_an_answer_may_ask_for_the_history_it_answers_into(bench: Bench) -> None:
    _, token = await parked(bench, CONFIRM)
    caller = RecordingCaller()
    await bench.client().run(answer(token, YES, replay=9), caller)
    assert names(caller.blocks) == ["Status", "Prompt", "ToolCall", "Status", "Text"]


async def test_what_ran_before_a_question_does_not_run_again_behind_its_answer(
    bench: Bench,
) -> None:
    before, after = FakeTool(name="ls"), FakeTool(name="node_ls")
    serving = await bench.serve(
        model(call(("u0", "ls"), CONFIRM, ("u2", "node_ls")), say("Done.")),
        tools=[before, after],
        prompts=BRIEF,
        harness=ASKS,
    )
    caller = absent()
    assert code_of(await bench.client().run(prompt(), caller)) == "deferred"
    assert (
        text_of(await bench.client().run(answer(caller.token, YES), RecordingCaller())) == "Done."
    )
    assert (len(before.calls), len(after.calls)) == (1, 1)
    assert set(last_results(serving.model)) == {"u0", "u1", "u2"}


@pytest.mark.parametrize(
    ("choice", "runs", "asked"), [("no", 0, 1), ("once", 1, 1), ("always", 2, 0)]
)
async def test_a_late_decision_counts_as_far_as_it_was_meant(
    bench: Bench, choice: Literal["no", "once", "always"], runs: int, asked: int
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), call(("u2", "node_rm")), say("Done.")),
        tools=[tool],
        prompts=BRIEF,
    )
    first, second = absent(), person("no")
    await bench.client().run(prompt(), first)
    given = m.Answer(tool_use_id="u1", kind="approve", choice=choice)
    assert text_of(await bench.client().run(answer(first.token, given), second)) == "Done."
    assert [question.tool_use_id for question in second.questions] == ["u2"] * asked
    assert len(tool.calls) == runs


async def test_a_text_of_odd_characters_is_an_answer_like_any_other(bench: Bench) -> None:
    serving, token = await parked(bench, INPUT)
    request = answer(token, m.Answer(tool_use_id="u1", kind="input", value="@@"))
    odd = b"\\ud83d \\u0000 \xe2\x80\xa8 \xe2\x80\xae \\u001b[2J"
    body = codec.encode(request).replace(b"@@", odd)
    inbox = await bench.caller.open_inbox()
    await bench.caller.publish_request(subjects.task("billing"), body, reply=inbox.subject)
    last: m.AnyMessage | None = None
    while not isinstance(last, m.Result | m.ErrorTerminal):
        received = await inbox.next(5)
        assert received is not None
        last = codec.decode(received.body)
    assert isinstance(last, m.Result)
    value = json.loads(last_results(serving.model)["u1"])["value"]
    assert value == "\ufffd \0 \u2028 \u202e \x1b[2J"
    caller = RecordingCaller()
    await bench.client().run(read(token), caller)
    assert names(caller.blocks)[1:-1] == ["Prompt", "ToolCall", "ToolResult", "Text"]
