"""Where an agent's operator approves, a caller's approval does not count on any path."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.errors import NoRespondersError
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.office import Office
from fisk_ai.testing.prompts import (
    ASKS,
    GATED,
    absent,
    answer,
    code_of,
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

OPERATED: dict[str, object] = {"elicit": True, "approve": "operator"}
ONCE = m.Answer(tool_use_id="u1", kind="approve", choice="once")
REFUSED = "approvals of this agent are given by its operator"


async def test_a_callers_answers_to_an_approval_are_refused_and_the_operators_is_taken(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await office.serve(model(call(("u1", "node_rm")), say("Done.")), tools=[tool], prompts=OPERATED)
    caller, request = absent(), prompt()
    running = asyncio.create_task(office.client().run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 10)
    (question,) = caller.questions
    tag, name = request.request, question.question_id
    for reply in (
        m.ElicitReplyApprove(**header(tag), question_id=name, choice="once"),
        m.ElicitReplyApprove(**header(tag), question_id=name, choice="no"),
        m.ElicitReplyNoOperator(**header(tag), question_id=name),
        m.ElicitReplyConfirm(**header(tag), question_id=name, confirmed=True),
    ):
        subject = subjects.elicit("billing", tag)
        received = await office.caller.request(subject, codec.encode(reply), timeout_s=5)
        assert received.refusal == ("403", REFUSED)
    assert tool.calls == []
    session = session_id_for_token("billing", caller.token)
    assert await office.operator().decide(session, ONCE, RecordingCaller()) is None
    assert text_of(await asyncio.wait_for(running, 10)) == "Done."
    assert len(tool.calls) == 1


async def test_a_callers_late_approval_is_refused_and_changes_nothing(office: Office) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    prompts = {**OPERATED, "elicit": False, "approvals": "park"}
    await office.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts=prompts)
    caller = RecordingCaller()
    assert code_of(await office.client().run(prompt(), caller)) == "suspended"
    session = session_id_for_token("billing", caller.token)
    before = (await office.store.load(session)).last_seq
    second = RecordingCaller()
    refused = error_of(await office.client().run(answer(caller.token, ONCE), second))
    assert (refused.code, refused.error) == ("rejected", REFUSED)
    assert [ack.accepted for ack in second.acks] == [False]
    assert (await office.store.load(session)).last_seq == before
    assert tool.calls == []


async def test_a_caller_whose_approvals_do_not_count_answers_other_questions(
    office: Office,
) -> None:
    question = ("u1", "ask_human_confirm", b'{"question":"Go?"}')
    served = await office.serve(model(call(question), say("Done.")), prompts=OPERATED, harness=ASKS)
    assert text_of(await office.client().run(prompt(), person(given=True))) == "Done."
    assert last_results(served.model) == {"u1": '{"confirmed":true}'}


async def test_a_caller_who_goes_on_waiting_keeps_a_question_open_no_longer_than_its_bound(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    prompts = {**OPERATED, "elicit_max": "300ms"}
    await office.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts=prompts)
    caller, request = absent(), prompt()
    running = asyncio.create_task(office.client().run(request, caller))
    await asyncio.wait_for(caller.asked.wait(), 10)
    (question,) = caller.questions
    subject = subjects.elicit("billing", request.request)
    taken = 0
    while not running.done():
        waits = m.ElicitWaiting(**header(request.request), question_id=question.question_id)
        try:
            reply = await office.caller.request(subject, codec.encode(waits), timeout_s=5)
        except NoRespondersError:
            break
        taken += reply.refusal is None
    assert code_of(await asyncio.wait_for(running, 10)) == "suspended"
    assert taken > 0
    assert tool.calls == []
