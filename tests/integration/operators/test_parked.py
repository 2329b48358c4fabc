"""A run that parked is decided about by its session id, whoever serves it next."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import TaskEnd
from fisk_ai.agent.options import Checkpoint
from fisk_ai.errors import FiskError, ServiceRefusedError
from fisk_ai.serving.contract import Outcome, Work
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import CallApproval, ToolResult
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.office import Office, Served
from fisk_ai.testing.prompts import (
    ASKS,
    GATED,
    Hold,
    absent,
    code_of,
    header,
    last_results,
    model,
    prompt,
    text_of,
)
from fisk_ai.testing.session_records import assistant, meta, terminal, write
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.prompter import absent as prompter_of

pytestmark = pytest.mark.integration

PARKS: dict[str, object] = {"approvals": "park", "workers": 1}
ARGUMENTS = b'{"node":"n1"}'
GATE = ("u1", "node_rm", ARGUMENTS)
ONCE = m.Answer(tool_use_id="u1", kind="approve", choice="once")
CONFIRM = ("u1", "ask_human_confirm", b'{"question":"Go?"}')


async def parked(office: Office, served: Served | None = None) -> tuple[FakeTool, str]:
    """Serve an agent whose first run waits for an operator; returns its tool and session."""
    tool = FakeTool(name="node_rm", own_tags=GATED)
    if served is None:
        await office.serve(model(call(GATE), say("Done.")), tools=[tool], prompts=PARKS)
    caller = RecordingCaller()
    assert code_of(await office.client().run(prompt(), caller)) == "suspended"
    return tool, session_id_for_token("billing", caller.token)


async def job(served: Served, task: str, approvals: str = "park") -> Outcome:
    """Do a job as its queue brings it, each time it does."""

    async def done(outcome: Outcome) -> None:
        return None

    checkpoint = Checkpoint(resume_id=task, create_if_missing=True, force=True)
    return await served.works(
        Work(
            id=task,
            done=done,
            prompt="Hi",
            checkpoint=checkpoint,
            claimed_by=task,
            prompter=prompter_of(approvals),
        )
    )


async def test_a_call_that_nobody_can_decide_about_parks_and_runs_once_it_is_approved(
    office: Office,
) -> None:
    tool, session = await parked(office)
    state = await office.operator().status(session)
    (waits,) = state.waiting
    assert (state.held, state.status, waits.kind, waits.tool) == (
        False,
        "suspended",
        "approve",
        "node_rm",
    )
    assert (waits.arguments, waits.args_sha256) == (
        ARGUMENTS.decode(),
        args_sha256("node_rm", ARGUMENTS),
    )
    assert tool.calls == []
    caller = RecordingCaller()
    given = structs.replace(ONCE, args_sha256=waits.args_sha256)
    end = await office.operator().decide(session, given, caller)
    assert end is not None
    assert (text_of(end), tool.calls) == ("Done.", [ARGUMENTS])
    assert caller.token == ""
    (approval,) = [
        record.payload
        for record in await office.store.records(session)
        if isinstance(record.payload, CallApproval)
    ]
    assert (approval.tool_use_id, approval.args_sha256) == ("u1", waits.args_sha256)


async def test_a_call_that_is_denied_never_runs_and_the_model_reads_so(office: Office) -> None:
    tool, session = await parked(office)
    no = structs.replace(ONCE, choice="no")
    end = await office.operator().decide(session, no, RecordingCaller())
    assert end is not None
    assert (text_of(end), tool.calls) == ("Done.", [])
    assert "declined" in last_results(office.served[0].model)["u1"]


async def test_without_parking_a_call_that_nobody_can_decide_about_is_denied(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await office.serve(model(call(GATE), say("Done.")), tools=[tool])
    assert text_of(await office.client().run(prompt(), RecordingCaller())) == "Done."
    assert tool.calls == []


async def test_a_caller_without_an_operator_leaves_a_parking_agents_call_to_another(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    prompts = {"elicit": True, "approvals": "park"}
    await office.serve(model(call(GATE), say("Done.")), tools=[tool], prompts=prompts)
    caller = RecordingCaller()
    assert code_of(await office.client().run(prompt(), caller)) == "suspended"
    session = session_id_for_token("billing", caller.token)
    end = await office.operator().decide(session, ONCE, RecordingCaller())
    assert end is not None
    assert (text_of(end), len(tool.calls)) == ("Done.", 1)


async def test_an_approval_for_other_arguments_is_refused_and_changes_nothing(
    office: Office,
) -> None:
    tool, session = await parked(office)
    before = (await office.store.load(session)).last_seq
    other = structs.replace(ONCE, args_sha256="0" * 64)
    with pytest.raises(ServiceRefusedError, match="400: the arguments of call"):
        await office.operator().decide(session, other, RecordingCaller())
    assert (await office.store.load(session)).last_seq == before
    assert tool.calls == []


async def test_a_deferred_question_is_answered_where_another_worker_serves(
    office: Office,
) -> None:
    first = await office.serve(
        model(call(CONFIRM)), prompts={"elicit": True, "elicit_max": "50ms"}, harness=ASKS
    )
    caller = absent()
    assert code_of(await office.client().run(prompt(), caller)) == "deferred"
    await first.server.release()
    await asyncio.wait_for(first.task, 10)
    second = await office.serve(model(say("Done there.")), harness=ASKS)
    session = session_id_for_token("billing", caller.token)
    yes = m.Answer(tool_use_id="u1", kind="confirm", confirmed=True)
    end = await office.operator().decide(session, yes, RecordingCaller())
    assert end is not None
    assert text_of(end) == "Done there."
    assert last_results(second.model) == {"u1": '{"confirmed":true}'}


async def test_a_run_that_an_operator_set_going_parks_where_it_needs_a_person_again(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    replies = (call(GATE), call(("u2", *CONFIRM[1:])), say("Done."))
    await office.serve(model(*replies), tools=[tool], prompts=PARKS, harness=ASKS)
    caller = RecordingCaller()
    assert code_of(await office.client().run(prompt(), caller)) == "suspended"
    session = session_id_for_token("billing", caller.token)
    operator = office.operator()
    end = await operator.decide(session, ONCE, RecordingCaller())
    assert end is not None
    assert (code_of(end), len(tool.calls)) == ("deferred", 1)
    yes = m.Answer(tool_use_id="u2", kind="confirm", confirmed=True)
    end = await operator.decide(session, yes, RecordingCaller())
    assert end is not None
    assert text_of(end) == "Done."


async def test_a_decision_waits_for_no_slot_and_is_refused_where_none_is_free(
    office: Office,
) -> None:
    hold = Hold()
    tools = [FakeTool(name="node_rm", own_tags=GATED), FakeTool(name="ls", effect=hold)]
    replies = (call(GATE), call(("u1", "ls")), say("Done."))
    await office.serve(model(*replies), tools=tools, prompts=PARKS)
    caller = RecordingCaller()
    assert code_of(await office.client().run(prompt(), caller)) == "suspended"
    session = session_id_for_token("billing", caller.token)
    running = asyncio.create_task(office.client().run(prompt(), RecordingCaller()))
    await asyncio.wait_for(hold.begun.wait(), 10)
    end = await office.operator().decide(session, ONCE, RecordingCaller())
    assert end is not None
    assert (code_of(end), tools[0].calls) == ("capacity", [])
    hold.go.set()
    await asyncio.wait_for(running, 10)


async def test_two_operators_at_once_on_two_workers_run_the_call_once(office: Office) -> None:
    tool, session = await parked(office)
    await office.serve(model(say("Done.")), tools=[tool], prompts=PARKS)

    async def decides() -> TaskEnd | FiskError | None:
        try:
            return await office.operator().decide(session, ONCE, RecordingCaller())
        except ServiceRefusedError as exc:
            return exc

    first, second = await asyncio.gather(decides(), decides())
    ends = [end for end in (first, second) if isinstance(end, TaskEnd)]
    assert [code_of(end) for end in ends].count("") == 1
    assert len(tool.calls) == 1


@pytest.mark.parametrize(("choice", "runs"), [("once", 1), ("no", 0)])
async def test_a_parked_job_is_decided_about_in_its_journal_and_goes_on_when_it_is_retried(
    office: Office, choice: Literal["no", "once"], runs: int
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    served = await office.serve(model(call(GATE), say("Done.")), tools=[tool])
    assert (await job(served, "j-1")).reason == "suspended"
    operator, given = office.operator(), structs.replace(ONCE, choice=choice)
    assert await operator.decide("j-1", given, RecordingCaller()) is None
    with pytest.raises(ServiceRefusedError, match="404"):
        await operator.decide("j-1", given, RecordingCaller())
    assert tool.calls == []
    done = await job(served, "j-1")
    assert (done.reason, done.text, len(tool.calls)) == ("completed", "Done.", runs)
    again = await job(served, "j-1")
    assert (again.text, len(tool.calls)) == ("Done.", runs)


async def test_of_two_operators_one_records_the_approval_of_a_job(office: Office) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    served = await office.serve(model(call(GATE), say("Done.")), tools=[tool])
    await office.serve(model(), tools=[tool])
    await job(served, "j-1")

    async def decides() -> bool:
        try:
            return await office.operator().decide("j-1", ONCE, RecordingCaller()) is None
        except ServiceRefusedError:
            return False

    assert sorted(await asyncio.gather(decides(), decides())) == [False, True]
    await job(served, "j-1")
    assert len(tool.calls) == 1


async def test_a_job_takes_no_standing_approval_and_no_answer_of_another_kind(
    office: Office,
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    served = await office.serve(model(call(GATE)), tools=[tool])
    await job(served, "j-1")
    before = (await office.store.load("j-1")).last_seq
    wrong = (
        structs.replace(ONCE, choice="always"),
        structs.replace(ONCE, args_sha256="0" * 64),
        m.Answer(tool_use_id="u1", kind="confirm", confirmed=True),
        structs.replace(ONCE, tool_use_id="u9"),
    )
    for given in wrong:
        with pytest.raises(ServiceRefusedError, match=r"40[04]: "):
            await office.operator().decide("j-1", given, RecordingCaller())
    reply = await office.anywhere(m.RequestResume(**header(), session="j-1"))
    assert reply.refusal == ("404", "a job is resumed by its retry")
    assert (await office.store.load("j-1")).last_seq == before


@pytest.mark.parametrize("choice", ["once", "no"])
async def test_a_jobs_call_that_may_have_run_is_decided_about_once_a_run_has_parked_at_it(
    office: Office, choice: Literal["no", "once"]
) -> None:
    await office.serve(model())
    journal = await office.store.create("j-1", meta(agent="billing"))
    await journal.append(2, assistant("u1"))
    await journal.close()
    given = structs.replace(ONCE, choice=choice)
    with pytest.raises(ServiceRefusedError, match=r"404: call .u1. may have run already"):
        await office.operator().decide("j-1", given, RecordingCaller())
    assert (await office.store.load("j-1")).last_seq == 2
    journal = await office.store.open("j-1")
    await journal.append(3, terminal("suspended"))
    await journal.close()
    assert await office.operator().decide("j-1", given, RecordingCaller()) is None
    assert (await office.store.load("j-1")).last_seq == 4


async def test_a_session_of_another_agent_in_the_same_stream_is_none_of_this_one(
    office: Office,
) -> None:
    await office.serve(model())
    journal = await office.store.create("j-9", meta(agent="other"))
    await journal.append(2, assistant("u1"))
    await journal.append(3, terminal("suspended"))
    await journal.close()
    with pytest.raises(ServiceRefusedError, match='404: agent "billing" has no session "j-9"'):
        await office.operator().decide("j-9", ONCE, RecordingCaller())
    assert (await office.store.load("j-9")).last_seq == 3


async def test_what_operators_cannot_mean_is_refused_and_changes_nothing(office: Office) -> None:
    _, session = await parked(office)
    before = (await office.store.load(session)).last_seq
    good = m.RequestAnswer(**header(), session=session, answer=ONCE)
    await write(office.store, "t-foreign", assistant("u1"), terminal("suspended"))
    hostile: list[tuple[m.AnyMessage | bytes, str]] = [
        (b"", "400"),
        (b"[]", "400"),
        (b"x" * 800_000, "400"),
        (codec.encode(good).replace(session.encode(), b"../x"), "400"),
        (m.OperatorStatus(**header()), "400"),
        (m.RequestAnswer(**header(), conversation_token="T1", answer=ONCE), "400"),
        (prompt(), "400"),
        (m.OperatorStatus(**header(), session="t-none"), "404"),
        (m.RequestAnswer(**header(), session="t-foreign", answer=ONCE), "404"),
        (m.Cancel(**header(), session=session), "404"),
    ]
    for body, status in hostile:
        reply = await office.anywhere(body)
        assert reply.refusal is not None, body
        assert reply.refusal[0] == status, (body, reply.refusal)
    assert (await office.store.load(session)).last_seq == before


async def test_a_caller_names_no_session(office: Office) -> None:
    tool, session = await parked(office)
    request = m.RequestAnswer(**header(), session=session, answer=ONCE)
    with pytest.raises(ServiceRefusedError, match="named by its token"):
        await office.client().run(request, RecordingCaller())
    assert tool.calls == []


async def test_an_approval_that_is_spent_is_not_spent_again(office: Office) -> None:
    tool, session = await parked(office)
    await office.operator().decide(session, ONCE, RecordingCaller())
    end = await office.operator().decide(session, ONCE, RecordingCaller())
    assert end is not None
    assert code_of(end) == "failed"
    records = [record.payload for record in await office.store.records(session)]
    assert sum(isinstance(each, ToolResult) for each in records) == 1
    assert len(tool.calls) == 1
