"""Questions of a run to its caller, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import json

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import Given
from fisk_ai.errors import NoRespondersError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import (
    ASKS,
    GATED,
    Bench,
    Hold,
    absent,
    answer,
    error_of,
    header,
    last_results,
    model,
    person,
    prompt,
    text_of,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


async def test_a_gated_call_runs_when_its_caller_allows_it(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    caller = person("once")
    end = await bench.client().run(prompt(), caller)
    assert text_of(end) == "Gone."
    (question,) = caller.questions
    assert isinstance(question, m.ElicitRequestApprove)
    assert (question.command, question.tool_use_id) == ("node rm", "u1")
    assert (question.wait_ms, len(question.args_sha256)) == (5000, 64)
    assert tool.calls == [b"{}"]


@pytest.mark.parametrize("given", ["no", None])
async def test_a_gated_call_does_not_run_when_nobody_allows_it(bench: Bench, given: Given) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    serving = await bench.serve(
        model(call(("u1", "node_rm")), say("Not gone.")), tools=[tool], prompts={"elicit": True}
    )
    end = await bench.client().run(prompt(), person(given))
    assert text_of(end) == "Not gone."
    assert tool.calls == []
    assert "allowed" in repr(serving.model.requests[-1].messages[-1])


async def test_without_questions_a_gated_call_is_denied_and_nobody_listens(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm")), say("Not gone.")), tools=[tool])
    caller, request = person("once"), prompt()
    end = await bench.client().run(request, caller)
    assert text_of(end) == "Not gone."
    assert caller.questions == []
    assert tool.calls == []


async def test_a_second_answer_is_told_that_the_question_is_closed(bench: Bench) -> None:
    hold = Hold()
    tool = FakeTool(name="node_rm", own_tags=GATED, effect=hold)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    caller, request = person("once"), prompt()
    run = asyncio.create_task(bench.client().run(request, caller))
    await hold.begun.wait()
    name = caller.questions[0].question_id
    subject = subjects.elicit("billing", request.request)
    late: list[m.AnyElicitReply] = [
        m.ElicitReplyApprove(**header(request.request), question_id=name, choice="always"),
        m.ElicitWaiting(**header(request.request), question_id=name),
    ]
    for message in late:
        reply = await bench.caller.request(subject, codec.encode(message), timeout_s=5)
        assert reply.refusal == ("404", f'this run is not waiting on question "{name}"')
    reply = await bench.caller.request(subject, codec.encode(request), timeout_s=5)
    assert reply.refusal is not None
    assert reply.refusal[1].startswith("the answer path carries answers to questions")
    hold.go.set()
    assert text_of(await run) == "Gone."


@pytest.mark.parametrize("digest", ["as shown", "", "b" * 64])
async def test_silence_suspends_and_a_late_approval_counts_for_what_was_shown(
    bench: Bench, digest: str
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Done.")),
        tools=[tool],
        prompts={"elicit": True, "elicit_max": "100ms"},
    )
    caller = absent()
    end = await bench.client().run(prompt(), caller)
    assert (error_of(end).code, end.unsent) == ("suspended", ())
    (question,) = caller.questions
    assert isinstance(question, m.ElicitRequestApprove)
    bound = question.args_sha256 if digest == "as shown" else digest
    changed = bound == "b" * 64
    given = m.Answer(tool_use_id="u1", kind="approve", choice="once", args_sha256=bound)
    again = person("no")
    assert text_of(await bench.client().run(answer(caller.token, given), again)) == "Done."
    assert len(again.questions) == int(changed)
    assert len(tool.calls) == int(not changed)


async def test_a_cancel_gives_the_open_question_up(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, caller, request = bench.client(), absent(), prompt()
    run = asyncio.create_task(client.run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 5)
    assert await client.cancel(request.request)
    assert error_of(await asyncio.wait_for(run, 5)).code == "suspended"
    assert tool.calls == []


async def test_a_control_message_of_another_request_is_refused(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Done.")), tools=[tool], prompts={"elicit": True}
    )
    refusals: list[tuple[str, str] | None] = []
    request = prompt()

    async def meddled(question: m.AnyQuestion) -> Given:
        """Answer and cancel in the name of another request first, then decide."""
        name = question.question_id
        reply = m.ElicitReplyApprove(**header(), question_id=name, choice="always")
        sent = (
            (subjects.elicit("billing", request.request), reply),
            (subjects.cancel("billing", request.request), m.Cancel(**header())),
        )
        for subject, message in sent:
            received = await bench.caller.request(subject, codec.encode(message), timeout_s=5)
            refusals.append(received.refusal)
        return "no"

    assert text_of(await bench.client().run(request, RecordingCaller(person=meddled))) == "Done."
    assert tool.calls == []
    assert [refusal and refusal[0] for refusal in refusals] == ["400", "400"]
    assert all(f'its subject of "{request.request}"' in str(refusal) for refusal in refusals)


async def test_a_decision_that_came_too_late_is_handed_back(bench: Bench) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, request = bench.client(), prompt()

    async def slow(question: m.AnyQuestion) -> Given:
        assert await client.cancel(request.request)
        return "always"

    end = await client.run(request, RecordingCaller(person=slow))
    assert error_of(end).code == "suspended"
    assert [(each.tool_use_id, each.choice) for each in end.unsent] == [("u1", "always")]


GATED_CALL = ("u1", "node_rm", b"{}")
ASKED = {
    "confirm": ("u1", "ask_human_confirm", b'{"question":"Go?"}'),
    "select": ("u1", "ask_human_select", b'{"question":"Which?","options":["red","blue"]}'),
    "input": ("u1", "ask_human_input", b'{"question":"Who?","default":"Bo"}'),
}


@pytest.mark.parametrize(
    ("kind", "given", "result"),
    [
        ("confirm", True, {"confirmed": True}),
        ("confirm", False, {"confirmed": False}),
        ("select", 1, {"selected": "blue"}),
        ("input", "Ann", {"value": "Ann"}),
        ("input", "", {"value": ""}),
    ],
)
async def test_a_question_of_the_model_gets_its_callers_answer(
    bench: Bench, kind: str, given: Given, result: dict[str, object]
) -> None:
    serving = await bench.serve(
        model(call(ASKED[kind]), say("Done.")), prompts={"elicit": True}, harness=ASKS
    )
    caller = person(given)
    assert text_of(await bench.client().run(prompt(), caller)) == "Done."
    assert json.loads(last_results(serving.model)["u1"]) == result
    (question,) = caller.questions
    assert (m.protocol_of(question).rpartition(".")[2], question.tool_use_id) == (kind, "u1")


@pytest.mark.parametrize("kind", sorted(ASKED))
async def test_a_caller_without_a_person_lets_the_tool_say_that_nobody_answered(
    bench: Bench, kind: str
) -> None:
    serving = await bench.serve(
        model(call(ASKED[kind]), say("Done.")), prompts={"elicit": True}, harness=ASKS
    )
    assert text_of(await bench.client().run(prompt(), person(None))) == "Done."
    result = json.loads(last_results(serving.model)["u1"])
    assert not any(value for key, value in result.items() if key != "reason")
    assert "no operator" in result["reason"]


@pytest.mark.parametrize("kind", sorted(ASKED))
async def test_an_answer_that_does_not_fit_settles_the_question_and_decides_nothing(
    bench: Bench, kind: str
) -> None:
    serving = await bench.serve(
        model(call(ASKED[kind]), say("Done.")), prompts={"elicit": True}, harness=ASKS
    )
    request, caller = prompt(), absent()
    run = asyncio.create_task(bench.client().run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 5)
    name = caller.questions[0].question_id
    head = header(request.request)
    wrong: m.AnyElicitReply = m.ElicitReplyApprove(**head, question_id=name, choice="always")
    if kind == "select":
        wrong = m.ElicitReplySelect(**head, question_id=name, index=2)
    subject = subjects.elicit("billing", request.request)
    reply = await bench.caller.request(subject, codec.encode(wrong), timeout_s=5)
    ack = codec.decode(reply.body)
    assert isinstance(ack, m.Ack)
    assert (ack.accepted, ack.sequence) == (True, 0)
    assert text_of(await run) == "Done."
    result = json.loads(last_results(serving.model)["u1"])
    assert not any(value for key, value in result.items() if key != "reason")
    assert len(caller.questions) == 1


async def test_a_question_too_large_to_send_denies_its_call_and_the_run_goes_on(
    bench: Bench,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    huge = b'{"name":"' + b"x" * codec.MESSAGE_LIMIT + b'"}'
    await bench.serve(
        model(call(("u1", "node_rm", huge)), say("Not gone.")),
        tools=[tool],
        prompts={"elicit": True},
    )
    caller = person("once")
    end = await bench.client().run(prompt(), caller)
    assert (text_of(end), caller.questions, tool.calls) == ("Not gone.", [], [])
    assert end.gaps == 0


@pytest.mark.parametrize(
    ("asked", "code"), [(ASKED["confirm"], "deferred"), (GATED_CALL, "suspended")]
)
async def test_a_worker_told_to_end_at_once_puts_down_what_its_question_waits_for(
    bench: Bench, asked: tuple[str, str, bytes], code: str
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    serving = await bench.serve(
        model(call(asked), say("Done.")), tools=[tool], prompts={"elicit": True}, harness=ASKS
    )
    caller = absent()
    run = asyncio.create_task(bench.client().run(prompt(), caller))
    await asyncio.wait_for(caller.asked.wait(), 5)
    await serving.server.release()
    assert not run.done()
    await serving.server.cancel_runs()
    assert error_of(await asyncio.wait_for(run, 5)).code == code
    await serving.ended()
    state = await bench.store.load(session_id_for_token("billing", caller.token))
    assert [each.tool_use_id for each in state.open_deferrals] == ["u1"] * (code == "deferred")
    assert (state.status, tool.calls) == ("suspended", [])


async def test_where_no_question_may_be_asked_nobody_listens_and_a_late_approval_is_lost(
    bench: Bench,
) -> None:
    hold = Hold()
    tools = [FakeTool(name="node_rm", own_tags=GATED), FakeTool(name="ls", effect=hold)]
    asking = await bench.serve(
        model(call(GATED_CALL)), tools=tools, prompts={"elicit": True, "elicit_max": "50ms"}
    )
    caller = absent()
    await bench.client().run(prompt(), caller)
    await asking.server.release()
    await asking.ended()
    await bench.serve(model(call(("u2", "ls")), say("Not gone.")), tools=tools)
    given = m.Answer(tool_use_id="u1", kind="approve", choice="once")
    request = answer(caller.token, given)
    run = asyncio.create_task(bench.client().run(request, RecordingCaller()))
    await hold.begun.wait()
    with pytest.raises(NoRespondersError):
        await bench.caller.request(subjects.elicit("billing", request.request), b"", timeout_s=5)
    hold.go.set()
    assert text_of(await run) == "Not gone."
    assert tools[0].calls == []
