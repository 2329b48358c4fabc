"""A person's decision reaches the agent or comes back."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.answering import Answering, Ask, Deliver, Given, late_answer, reply_to
from fisk_ai.a2a.hooks import ClientHooks, TaskHooks
from fisk_ai.errors import BusTimeoutError, FiskError, NoRespondersError, ServiceRefusedError

DIGEST = "a" * 64


def header() -> m.HeaderFields:
    return m.request_header(m.Sender(name="caller"), "agent", request="R1")


def approve(wait_ms: int = 0) -> m.ElicitRequestApprove:
    return m.ElicitRequestApprove(
        **header(),
        question_id="Q1",
        tool_use_id="u1",
        command="rm",
        display="rm x",
        args_sha256=DIGEST,
        wait_ms=wait_ms,
    )


CONFIRM = m.ElicitRequestConfirm(**header(), question_id="Q1", tool_use_id="u1", question="?")
SELECT = m.ElicitRequestSelect(
    **header(), question_id="Q1", tool_use_id="u1", question="?", options=("a", "b")
)
INPUT = m.ElicitRequestInput(**header(), question_id="Q1", tool_use_id="u1", question="?")


@pytest.mark.parametrize(
    ("question", "given", "late"),
    [
        (
            approve(),
            "once",
            m.Answer(tool_use_id="u1", kind="approve", choice="once", args_sha256=DIGEST),
        ),
        (CONFIRM, False, m.Answer(tool_use_id="u1", kind="confirm", confirmed=False)),
        (SELECT, 1, m.Answer(tool_use_id="u1", kind="select", value="b")),
        (INPUT, "", m.Answer(tool_use_id="u1", kind="input", value="")),
    ],
)
def test_a_decision_can_travel_late_under_the_name_of_its_call(
    question: m.AnyQuestion, given: Given, late: m.Answer
) -> None:
    assert late_answer(question, reply_to(question, given, header())) == late


@pytest.mark.parametrize(
    ("question", "given"),
    [(approve(), None), (approve(), "yes"), (CONFIRM, "yes"), (SELECT, -1), (SELECT, 2),
     (SELECT, None), (INPUT, None), (INPUT, 3)],
)  # fmt: skip
def test_what_is_no_answer_says_that_nobody_decided(question: m.AnyQuestion, given: Given) -> None:
    reply = reply_to(question, given, header())
    assert isinstance(reply, m.ElicitReplyNoOperator)
    assert late_answer(question, reply) is None


class Agent:
    """Takes replies, or is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone = gone
        self.taken: list[m.AnyElicitReply] = []
        self.heard = asyncio.Event()
        self.missed = asyncio.Event()

    async def deliver(self, reply: m.AnyElicitReply) -> m.Ack:
        if self.gone:
            self.missed.set()
            raise NoRespondersError("nobody")
        self.taken.append(reply)
        self.heard.set()
        return m.Ack(**m.reply_header(reply, "agent"), accepted=True)


def answering_with(ask: Ask, deliver: Deliver) -> Answering:
    hooks = TaskHooks(ClientHooks(), m.RequestPrompt(**header(), prompt="Hi"))
    return Answering(ask, deliver, header=header, hooks=hooks)


async def drained() -> None:
    asking = {task for task in asyncio.all_tasks() if task.get_name() == "answer a question"}
    await asyncio.wait(asking, timeout=5)


async def test_an_answer_that_cannot_be_delivered_comes_back() -> None:
    async def ask(question: m.AnyQuestion) -> Given:
        return "always"

    answering = answering_with(ask, Agent(gone=True).deliver)
    answering.start(approve())
    await drained()
    (unsent,) = await answering.finish()
    assert (unsent.choice, unsent.args_sha256) == ("always", DIGEST)


async def test_a_question_is_kept_open_until_the_answer_and_not_after() -> None:
    agent = Agent()

    async def ask(question: m.AnyQuestion) -> Given:
        await agent.heard.wait()
        return "no"

    answering = answering_with(ask, agent.deliver)
    answering.start(approve(wait_ms=3))
    await drained()
    assert await answering.finish() == ()
    kinds = [type(reply) for reply in agent.taken]
    assert kinds[0] is m.ElicitWaiting
    assert kinds[-1] is m.ElicitReplyApprove
    assert m.ElicitReplyApprove not in kinds[:-1]


async def test_a_keepalive_that_fails_leaves_the_person_typing() -> None:
    agent, typing = Agent(gone=True), asyncio.Event()

    async def ask(question: m.AnyQuestion) -> Given:
        await typing.wait()
        return "once"

    answering = answering_with(ask, agent.deliver)
    answering.start(approve(wait_ms=1))
    await asyncio.wait_for(agent.missed.wait(), 5)
    agent.gone = False
    typing.set()
    await drained()
    assert [type(reply) for reply in agent.taken] == [m.ElicitReplyApprove]


async def test_a_person_still_asked_is_released_when_the_task_ends() -> None:
    released = asyncio.Event()

    async def ask(question: m.AnyQuestion) -> Given:
        try:
            await asyncio.Event().wait()
        finally:
            released.set()
        return None

    answering = answering_with(ask, Agent().deliver)
    answering.start(approve())
    await asyncio.sleep(0)
    assert await answering.finish() == ()
    assert released.is_set()


async def test_an_error_of_the_asking_reaches_the_caller() -> None:
    async def ask(question: m.AnyQuestion) -> Given:
        raise ZeroDivisionError

    answering = answering_with(ask, Agent().deliver)
    answering.start(approve())
    await drained()
    with pytest.raises(ZeroDivisionError):
        await answering.finish()


def ending(code: str) -> m.ErrorTerminal:
    request = m.RequestPrompt(**header(), prompt="go")
    return m.ErrorTerminal(**m.reply_header(request, "agent"), error="over", code=code)


async def answered(error: FiskError) -> Answering:
    """Answer a question whose delivery ends with ``error``."""

    async def ask(question: m.AnyQuestion) -> Given:
        return "once"

    async def deliver(reply: m.AnyElicitReply) -> m.Ack:
        raise error

    answering = answering_with(ask, deliver)
    answering.start(approve())
    await drained()
    return answering


async def test_an_answer_that_may_have_been_taken_is_not_sent_again_to_a_run_that_ended() -> None:
    answering = await answered(BusTimeoutError("no reply"))
    assert await answering.finish(ending("failed")) == ()
    assert await answering.finish() == ()


@pytest.mark.parametrize("code", ["suspended", "deferred"])
async def test_an_answer_that_may_have_been_lost_is_sent_again_to_a_run_that_parked(
    code: str,
) -> None:
    answering = await answered(BusTimeoutError("no reply"))
    (unsent,) = await answering.finish(ending(code))
    assert unsent.tool_use_id == "u1"


@pytest.mark.parametrize(
    "error", [BusTimeoutError("no reply"), ServiceRefusedError("not waiting", status="404")]
)
async def test_an_answer_to_a_call_that_has_its_result_is_not_sent_again(error: FiskError) -> None:
    answering = await answered(error)
    answering.settled("u1")
    assert await answering.finish(ending("suspended")) == ()


async def test_an_answer_that_was_refused_comes_back_whatever_became_of_the_run() -> None:
    answering = await answered(ServiceRefusedError("not waiting", status="404"))
    (unsent,) = await answering.finish(ending("failed"))
    assert unsent.tool_use_id == "u1"
