"""A run that waits is answered and stopped by its session id, without a slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import TaskEnd
from fisk_ai.agent.options import Checkpoint
from fisk_ai.errors import NoRespondersError, ServiceRefusedError
from fisk_ai.serving.contract import Outcome, Work
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.ids import session_id_for_token
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
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

ELICITS: dict[str, object] = {"elicit": True, "workers": 1}
ARGUMENTS = b'{"node":"n1"}'
GATE = ("u1", "node_rm", ARGUMENTS)
CONFIRM = ("u1", "ask_human_confirm", b'{"question":"Go?"}')
SELECT = ("u1", "ask_human_select", b'{"question":"Which?","options":["red","blue"]}')
INPUT = ("u1", "ask_human_input", b'{"question":"Who?"}')
ONCE = m.Answer(tool_use_id="u1", kind="approve", choice="once")


class Asked:
    """A run of the only slot that waits for its caller, who says nothing."""

    def __init__(self, office: Office, served: Served, tool: FakeTool) -> None:
        self.office = office
        self.served = served
        self.tool = tool
        self.caller = absent()
        self.request = prompt()
        self.running = asyncio.create_task(office.client().run(self.request, self.caller))

    @property
    def session(self) -> str:
        return session_id_for_token("billing", self.caller.token)

    def answer(self, given: m.Answer) -> m.RequestAnswer:
        return m.RequestAnswer(**header(), session=self.session, answer=given)

    async def ended(self) -> TaskEnd:
        return await asyncio.wait_for(self.running, 10)


@asynccontextmanager
async def asked(office: Office, question: tuple[str, str, bytes]) -> AsyncGenerator[Asked]:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    served = await office.serve(
        model(call(question), say("Done.")), tools=[tool], prompts=ELICITS, harness=ASKS
    )
    run = Asked(office, served, tool)
    await asyncio.wait_for(run.caller.asked.wait(), 10)
    try:
        yield run
    finally:
        run.running.cancel()


async def test_an_operator_approves_a_live_call_while_its_run_has_the_only_slot(
    office: Office,
) -> None:
    async with asked(office, GATE) as run:
        busy = await office.client().run(prompt(), RecordingCaller())
        assert code_of(busy) == "capacity"
        state = await office.operator().status(run.session)
        assert (state.held, state.task) == (True, run.request.request)
        assert isinstance(state.question, m.OpenQuestion)
        assert (state.question.kind, state.question.tool_use_id) == ("approve", "u1")
        assert state.question.args_sha256 == args_sha256("node_rm", ARGUMENTS)
        given = structs.replace(ONCE, args_sha256=state.question.args_sha256)
        assert await office.operator().decide(run.session, given, RecordingCaller()) is None
        assert text_of(await run.ended()) == "Done."
        assert run.tool.calls == [ARGUMENTS]


@pytest.mark.parametrize(
    ("question", "given", "result"),
    [
        (CONFIRM, m.Answer(tool_use_id="u1", kind="confirm", confirmed=True), '{"confirmed":true}'),
        (SELECT, m.Answer(tool_use_id="u1", kind="select", value="blue"), '{"selected":"blue"}'),
        (INPUT, m.Answer(tool_use_id="u1", kind="input", value="Ann"), '{"value":"Ann"}'),
    ],
)
async def test_an_operator_answers_a_live_question(
    office: Office, question: tuple[str, str, bytes], given: m.Answer, result: str
) -> None:
    async with asked(office, question) as run:
        assert await office.operator().decide(run.session, given, RecordingCaller()) is None
        await run.ended()
        assert last_results(run.served.model) == {"u1": result}


async def test_an_operator_denies_a_live_call(office: Office) -> None:
    async with asked(office, GATE) as run:
        no = structs.replace(ONCE, choice="no")
        assert await office.operator().decide(run.session, no, RecordingCaller()) is None
        assert text_of(await run.ended()) == "Done."
        assert run.tool.calls == []
        assert "declined" in last_results(run.served.model)["u1"]


async def test_of_two_operators_the_first_decides_and_the_second_is_told(office: Office) -> None:
    async with asked(office, GATE) as run:
        replies = await asyncio.gather(
            *(office.at_door(run.session, run.answer(ONCE)) for _ in range(2))
        )
        refused = [reply.refusal for reply in replies if reply.refusal]
        assert [status for status, _ in refused] == ["404"]
        await run.ended()
        assert len(run.tool.calls) == 1


async def test_what_does_not_fit_the_question_is_refused_and_leaves_it_open(
    office: Office,
) -> None:
    async with asked(office, GATE) as run:
        good = run.answer(ONCE)
        other = structs.replace(ONCE, args_sha256="0" * 64)
        kind = m.Answer(tool_use_id="u1", kind="confirm", confirmed=True)
        call = structs.replace(ONCE, tool_use_id="u9\r\nX: y")
        elsewhere = m.OperatorStatus(**header(), session="t-other")
        by_token = m.RequestAnswer(**header(), conversation_token="T1", answer=ONCE)
        hostile: list[tuple[m.AnyMessage | bytes, str]] = [
            (b"{", "400"),
            (b"x" * 800_000, "400"),
            (codec.encode(good).replace(b'"once"', b'"ever"'), "400"),
            (prompt(), "400"),
            (by_token, "400"),
            (elsewhere, "400"),
            (m.RequestResume(**header(), conversation_token="T1"), "400"),
            (run.answer(other), "400"),
            (run.answer(kind), "400"),
            (run.answer(call), "404"),
            (m.RequestResume(**header(), session=run.session), "404"),
        ]
        for body, status in hostile:
            reply = await office.at_door(run.session, body)
            assert reply.refusal is not None, body
            assert reply.refusal[0] == status, (body, reply.refusal)
        assert (await office.at_door(run.session, b"")).body == b""
        assert not run.running.done()
        assert (await office.at_door(run.session, good)).refusal is None
        assert text_of(await run.ended()) == "Done."
        assert len(run.tool.calls) == 1


async def test_an_option_that_was_not_offered_leaves_the_question_open(office: Office) -> None:
    async with asked(office, SELECT) as run:
        green = m.Answer(tool_use_id="u1", kind="select", value="green")
        with pytest.raises(ServiceRefusedError, match=r"400: .*no option"):
            await office.operator().decide(run.session, green, RecordingCaller())
        blue = structs.replace(green, value="blue")
        assert await office.operator().decide(run.session, blue, RecordingCaller()) is None
        await run.ended()


async def test_an_operator_stops_a_run_at_its_question(office: Office) -> None:
    async with asked(office, GATE) as run:
        reply = await office.at_door(run.session, m.Cancel(**header()))
        assert isinstance(codec.decode(reply.body), m.Ack)
        assert code_of(await run.ended()) == "suspended"
        assert run.tool.calls == []


async def test_a_job_is_seen_and_stopped_by_its_session(office: Office) -> None:
    hold = Hold()
    tool = FakeTool(name="ls", effect=hold)
    served = await office.serve(model(call(("u1", "ls")), say("Done.")), tools=[tool])
    told: list[Outcome] = []

    async def done(outcome: Outcome) -> None:
        told.append(outcome)

    checkpoint = Checkpoint(resume_id="j-1", create_if_missing=True)
    work = Work(id="j-1", done=done, prompt="Hi", checkpoint=checkpoint, claimed_by="task-7")
    running = asyncio.create_task(served.works(work))
    await asyncio.wait_for(hold.begun.wait(), 10)
    state = await office.operator().status("j-1")
    assert (state.held, state.task, bool(state.question)) == (True, "task-7", False)
    reply = await office.at_door("j-1", m.RequestAnswer(**header(), session="j-1", answer=ONCE))
    assert reply.refusal == ("404", 'this run is not waiting on call "u1"')
    assert (await office.at_door("j-1", m.Cancel(**header()))).refusal is None
    hold.go.set()
    assert (await asyncio.wait_for(running, 10)).reason == "suspended"
    with pytest.raises(NoRespondersError):
        await office.caller.request(subjects.session("billing", "j-1"), b"", timeout_s=2)
