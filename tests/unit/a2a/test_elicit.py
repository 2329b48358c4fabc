"""Questions to a caller: the first answer wins, and silence is told from a no."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.elicit import NO_OPERATOR, CallerPrompter
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.errors import BusError, DeferredError, FiskError, PromptAbortedError
from fisk_ai.testing.wire import RecordedWire
from fisk_ai.toolkit.prompter import Choice, GateRequest, Prompter

DIGEST = "a" * 64
GATED = GateRequest(
    tool_use_id="u1", command="node rm", display="node rm x", tag="ai:confirm", args_sha256=DIGEST
)


class Caller:
    """Reads the questions of one reply set and answers them through the prompter."""

    def __init__(self, *, window_s: float = 5.0, elicit_max_s: float = 5.0) -> None:
        self.wire = RecordedWire()
        self.draining = False
        self.request = m.RequestPrompt(
            **m.request_header(m.Sender(name="caller"), "agent"), prompt="Hi"
        )
        self._asked: asyncio.Queue[m.AnyQuestion] = asyncio.Queue()
        reply_set = ReplySet(self._publish, self.request, "agent", stream=False)
        self.prompter = CallerPrompter(
            reply_set,
            window_s=window_s,
            elicit_max_s=elicit_max_s,
            draining=lambda: self.draining,
        )

    async def _publish(self, body: bytes, headers: Mapping[str, str]) -> None:
        await self.wire.publish(body, headers)
        message = self.wire.messages()[-1]
        assert isinstance(message, m.Question)
        self._asked.put_nowait(message)

    async def asked(self) -> m.AnyQuestion:
        async with asyncio.timeout(5):
            return await self._asked.get()

    def header(self) -> m.HeaderFields:
        return m.request_header(m.Sender(name="caller"), "agent", request=self.request.request)

    def waiting(self, question: m.AnyQuestion) -> bool:
        return self.prompter.answer(
            m.ElicitWaiting(**self.header(), question_id=question.question_id)
        )

    async def wait_on(self, question: m.AnyQuestion) -> None:
        """Say that a person is still thinking until nobody wants to know."""
        for _ in range(500):
            if not self.waiting(question):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the question never closed")

    def approve(self, question: m.AnyQuestion, choice: Choice) -> bool:
        name = question.question_id
        return self.prompter.answer(
            m.ElicitReplyApprove(**self.header(), question_id=name, choice=choice)
        )


def as_prompter(prompter: CallerPrompter) -> Prompter:
    """Fail to type-check when the contract of prompters and this one part ways."""
    return prompter


@pytest.mark.parametrize("choice", ["no", "once", "always"])
async def test_an_approval_is_asked_with_all_that_binds_its_answer(choice: Choice) -> None:
    caller = Caller(window_s=120)
    asking = asyncio.create_task(as_prompter(caller.prompter).approve(GATED))
    question = await caller.asked()
    assert isinstance(question, m.ElicitRequestApprove)
    assert (question.tool_use_id, question.command, question.display, question.tag) == (
        "u1", "node rm", "node rm x", "ai:confirm",
    )  # fmt: skip
    assert (question.args_sha256, question.wait_ms) == (DIGEST, 120_000)
    assert caller.approve(question, choice)
    assert await asking == choice


async def test_the_first_answer_wins() -> None:
    caller = Caller()
    asking = asyncio.create_task(caller.prompter.approve(GATED))
    question = await caller.asked()
    assert caller.approve(question, "no")
    assert not caller.approve(question, "always")
    assert not caller.waiting(question)
    assert await asking == "no"
    assert not caller.approve(question, "always")


async def test_the_other_three_kinds_are_answered() -> None:
    caller = Caller()
    prompter = caller.prompter
    confirming = asyncio.create_task(prompter.confirm("u", "sure?"))
    name = (await caller.asked()).question_id
    prompter.answer(m.ElicitReplyConfirm(**caller.header(), question_id=name, confirmed=False))
    assert await confirming is False
    selecting = asyncio.create_task(prompter.select("u", "which?", ["a", "b"]))
    name = (await caller.asked()).question_id
    prompter.answer(m.ElicitReplySelect(**caller.header(), question_id=name, index=1))
    assert await selecting == 1
    entering = asyncio.create_task(prompter.input("u", "name?", "joe"))
    name = (await caller.asked()).question_id
    prompter.answer(m.ElicitReplyInput(**caller.header(), question_id=name, value=""))
    assert await entering == ""


async def test_silence_aborts_an_approval_and_defers_every_other_question() -> None:
    caller = Caller(window_s=0.01)
    with pytest.raises(PromptAbortedError):
        await caller.prompter.approve(GATED)
    for question in (
        caller.prompter.confirm("u", "?"),
        caller.prompter.select("u", "?", ["a"]),
        caller.prompter.input("u", "?", ""),
    ):
        with pytest.raises(DeferredError):
            await question


async def test_nobody_there_is_an_error_with_its_reason() -> None:
    caller = Caller()
    for asking in (caller.prompter.approve(GATED), caller.prompter.confirm("u", "?")):
        task = asyncio.create_task(asking)
        name = (await caller.asked()).question_id
        caller.prompter.answer(m.ElicitReplyNoOperator(**caller.header(), question_id=name))
        with pytest.raises(FiskError, match=NO_OPERATOR) as caught:
            await task
        assert not isinstance(caught.value, PromptAbortedError | DeferredError)


async def test_an_answer_of_another_kind_settles_the_question_closed() -> None:
    caller = Caller()
    asking = asyncio.create_task(caller.prompter.confirm("u", "?"))
    assert caller.approve(await caller.asked(), "always")
    with pytest.raises(FiskError, match="does not fit") as caught:
        await asking
    assert not isinstance(caught.value, DeferredError)


async def test_a_position_outside_the_options_is_never_clamped() -> None:
    caller = Caller()
    asking = asyncio.create_task(caller.prompter.select("u", "?", ["a", "b"]))
    name = (await caller.asked()).question_id
    caller.prompter.answer(m.ElicitReplySelect(**caller.header(), question_id=name, index=2))
    with pytest.raises(FiskError, match="does not fit"):
        await asking


async def test_an_answer_to_no_open_question_is_not_taken() -> None:
    caller = Caller()
    other = m.ElicitReplyConfirm(**caller.header(), question_id="Q9", confirmed=True)
    assert not caller.prompter.answer(other)


async def test_waiting_keeps_a_question_open_beyond_its_window() -> None:
    caller = Caller(window_s=1.0)
    asking = asyncio.create_task(caller.prompter.approve(GATED))
    question = await caller.asked()
    until = asyncio.get_running_loop().time() + 1.2
    while asyncio.get_running_loop().time() < until:
        assert caller.waiting(question)
        await asyncio.sleep(0.02)
    assert caller.approve(question, "once")
    assert await asking == "once"


async def test_waiting_for_ever_ends_at_the_bound_in_all() -> None:
    caller = Caller(window_s=0.2, elicit_max_s=0.1)
    asking = asyncio.create_task(caller.prompter.approve(GATED))
    question = await caller.asked()
    await caller.wait_on(question)
    with pytest.raises(PromptAbortedError):
        await asking


async def test_waiting_does_not_restart_the_window_while_the_worker_drains() -> None:
    caller = Caller(window_s=0.1, elicit_max_s=60)
    caller.draining = True
    asking = asyncio.create_task(caller.prompter.approve(GATED))
    question = await caller.asked()
    await caller.wait_on(question)
    with pytest.raises(PromptAbortedError):
        await asking


async def test_giving_up_ends_the_open_question_and_those_to_come() -> None:
    caller = Caller(window_s=60, elicit_max_s=60)
    asking = asyncio.create_task(caller.prompter.approve(GATED))
    question = await caller.asked()
    caller.prompter.give_up()
    with pytest.raises(PromptAbortedError):
        await asking
    assert not caller.approve(question, "once")
    with pytest.raises(DeferredError):
        await caller.prompter.confirm("u", "?")
    assert len(caller.wire.bodies) == 1


async def test_a_question_that_cannot_be_sent_fails_and_is_not_silence() -> None:
    caller = Caller()
    caller.wire.broken = {1}
    with pytest.raises(BusError):
        await caller.prompter.approve(GATED)


@pytest.mark.parametrize("question", ["", "x" * 800_000])
async def test_a_question_that_makes_no_message_is_not_sent(question: str) -> None:
    caller = Caller()
    with pytest.raises(FiskError) as caught:
        await caller.prompter.confirm("u", question)
    assert not isinstance(caught.value, DeferredError)
    assert not caller.wire.bodies


async def test_a_choice_without_options_is_not_sent() -> None:
    caller = Caller()
    with pytest.raises(FiskError, match="without options"):
        await caller.prompter.select("u", "?", [])


async def test_an_answer_may_be_faster_than_the_sending() -> None:
    caller = Caller()

    async def publish(body: bytes, headers: Mapping[str, str]) -> None:
        await caller.wire.publish(body, headers)
        question = caller.wire.messages()[-1]
        assert isinstance(question, m.ElicitRequestApprove)
        assert prompter.answer(
            m.ElicitReplyApprove(**caller.header(), question_id=question.question_id, choice="once")
        )

    reply_set = ReplySet(publish, caller.request, "agent", stream=False)
    prompter = CallerPrompter(reply_set, window_s=5, elicit_max_s=5)
    assert await prompter.approve(GATED) == "once"
