"""Code in the caller's process that watches its tasks, and the one hook that may act."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import (
    ClientHooks,
    ClientLimits,
    Given,
    IncompleteTaskError,
    PromptDeniedError,
)
from fisk_ai.a2a.hooks import (
    CancelRequested,
    QuestionSettled,
    SubmittedPrompt,
    SubmitVerdict,
    TaskOver,
    TaskRefused,
    TaskTaken,
)
from fisk_ai.errors import AgentUnavailableError
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import (
    GATED,
    Bench,
    Hold,
    code_of,
    model,
    person,
    prompt,
    read,
    resume,
    text_of,
)
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

Submit = Callable[[SubmittedPrompt], Awaitable[SubmitVerdict | None]]


@dataclass(slots=True)
class Seen:
    """Notes which hook fired and with what."""

    facts: list[tuple[str, object]] = field(default_factory=list[tuple[str, object]])

    def hooks(self, submit: Submit | None = None, *, failing: bool = False) -> ClientHooks:
        def note(name: str) -> Callable[[object], Awaitable[None]]:
            async def noted(fact: object) -> None:
                self.facts.append((name, fact))
                if failing:
                    raise ZeroDivisionError(name)

            return noted

        async def keep(submitted: SubmittedPrompt) -> SubmitVerdict | None:
            self.facts.append(("prompt_submit", submitted))
            return await submit(submitted) if submit is not None else None

        return ClientHooks(
            prompt_submit=keep,
            conversation_start=note("conversation_start"),
            conversation_resume=note("conversation_resume"),
            turn_accepted=note("turn_accepted"),
            turn_refused=note("turn_refused"),
            question_asked=note("question_asked"),
            question_answered=note("question_answered"),
            turn_end=note("turn_end"),
            cancel_requested=note("cancel_requested"),
        )

    def names(self) -> list[str]:
        return [name for name, _ in self.facts]

    def only(self, name: str) -> object:
        (fact,) = [fact for each, fact in self.facts if each == name]
        return fact


@pytest.fixture
def seen() -> Seen:
    return Seen()


async def test_the_hooks_of_a_task_fire_in_the_order_of_its_exchange(
    bench: Bench, seen: Seen
) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    request, caller = prompt(context="on site"), person("once")
    end = await bench.client(hooks=seen.hooks()).run(request, caller)
    assert text_of(end) == "Gone."
    assert seen.names() == [
        "prompt_submit", "conversation_start", "turn_accepted", "question_asked",
        "question_answered", "turn_end",
    ]  # fmt: skip
    assert seen.only("prompt_submit") == SubmittedPrompt(
        request=request.request, text="Hi", context="on site", token=""
    )
    taken = TaskTaken(request=request.request, token=caller.token, max_tokens=500_000)
    assert seen.only("turn_accepted") == seen.only("conversation_start") == taken
    (question,) = caller.questions
    assert seen.only("question_asked") == question
    assert seen.only("question_answered") == QuestionSettled(
        question=question, answered=True, held=False
    )
    assert isinstance(end.terminal, m.Result)
    assert seen.only("turn_end") == TaskOver(
        request=request.request,
        token=caller.token,
        stop_reason="end_turn",
        usage=end.terminal.usage,
    )


async def test_a_request_that_brings_its_token_resumes_a_conversation(
    bench: Bench, seen: Seen
) -> None:
    await bench.serve(model(say("one"), say("two")))
    token = (await bench.client().run(prompt(), RecordingCaller())).token
    client = bench.client(hooks=seen.hooks())
    await client.run(prompt("more", token=token), RecordingCaller())
    await client.run(resume(token), RecordingCaller())
    await client.run(read(token), RecordingCaller())
    taken = ["conversation_resume", "turn_accepted", "turn_end"]
    assert seen.names() == ["prompt_submit", *taken, *taken, *taken]


async def test_a_denied_prompt_is_not_sent(bench: Bench, seen: Seen) -> None:
    serving = await bench.serve(model(say("no")))

    async def deny(submitted: SubmittedPrompt) -> SubmitVerdict:
        return SubmitVerdict(deny=True, reason="it names a customer")

    caller = RecordingCaller()
    with pytest.raises(PromptDeniedError, match="prompt denied: it names a customer"):
        await bench.client(hooks=seen.hooks(deny)).run(prompt(), caller)
    assert (caller.acks, serving.model.requests) == ([], [])
    assert seen.names() == ["prompt_submit"]


async def test_an_error_of_the_vetting_hook_stops_the_task(bench: Bench, seen: Seen) -> None:
    serving = await bench.serve(model(say("no")))

    async def fail(submitted: SubmittedPrompt) -> SubmitVerdict:
        raise OSError("no policy file")

    with pytest.raises(OSError, match="no policy file"):
        await bench.client(hooks=seen.hooks(fail)).run(prompt(), RecordingCaller())
    assert serving.model.requests == []


async def test_a_rewritten_prompt_is_what_the_agent_gets(bench: Bench, seen: Seen) -> None:
    serving = await bench.serve(model(say("Fine.")))

    async def redact(submitted: SubmittedPrompt) -> SubmitVerdict:
        return SubmitVerdict(text=submitted.text.replace("Ann", "[name]"), context="")

    request = prompt("call Ann", context="Ann's number")
    await bench.client(hooks=seen.hooks(redact)).run(request, RecordingCaller())
    sent = repr(serving.model.requests[0].messages)
    assert ("[name]" in sent, "Ann" in sent) == (True, False)


async def test_a_refused_task_has_its_reason_and_no_end(bench: Bench, seen: Seen) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )
    first = asyncio.create_task(bench.client().run(prompt(), RecordingCaller()))
    await hold.begun.wait()
    request = prompt()
    end = await bench.client(hooks=seen.hooks()).run(request, RecordingCaller())
    assert code_of(end) == "capacity"
    assert seen.names() == ["prompt_submit", "turn_refused"]
    reason = "this worker is running its maximum of 1 prompts"
    assert seen.only("turn_refused") == TaskRefused(request=request.request, reason=reason)
    hold.go.set()
    await first


async def test_a_task_that_nobody_took_has_no_end(bench: Bench, seen: Seen) -> None:
    with pytest.raises(AgentUnavailableError):
        await bench.client(hooks=seen.hooks()).run(prompt(), RecordingCaller())
    assert seen.names() == ["prompt_submit"]


@pytest.mark.parametrize("how", ["silence", "cancellation", "handler"])
async def test_a_reading_that_breaks_off_ends_once_with_its_error(
    bench: Bench, seen: Seen, how: str
) -> None:
    hold = Hold()
    await bench.serve(
        model(call(("u1", "ls")), say("Fine.")), tools=[FakeTool(name="ls", effect=hold)]
    )

    class Broken(RecordingCaller):
        async def on_event(self, block: m.EventBlock) -> None:
            if how == "handler":
                raise LookupError("no screen")

    limits = ClientLimits(idle_s=0.1 if how == "silence" else 60.0, probe_s=60.0)
    caller, client = Broken(), bench.client(limits, seen.hooks())
    run = asyncio.create_task(client.run(prompt(), caller))
    await hold.begun.wait()
    if how == "cancellation":
        run.cancel()
    with pytest.raises((IncompleteTaskError, asyncio.CancelledError, LookupError)) as caught:
        await run
    over = seen.only("turn_end")
    assert isinstance(over, TaskOver)
    assert (over.error, over.code, over.token) == (caught.value, "", caller.token)
    hold.go.set()


async def test_an_observer_that_fails_changes_nothing(bench: Bench, seen: Seen) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(
        model(call(("u1", "node_rm")), say("Gone.")), tools=[tool], prompts={"elicit": True}
    )
    client = bench.client(hooks=seen.hooks(failing=True))
    assert text_of(await client.run(prompt(), person("once"))) == "Gone."
    assert seen.names()[-2:] == ["question_answered", "turn_end"]


async def test_a_decision_that_came_too_late_is_told_as_held(bench: Bench, seen: Seen) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, request = bench.client(hooks=seen.hooks()), prompt()

    async def slow(question: m.AnyQuestion) -> Given:
        assert await client.cancel(request.request, "enough")
        return "always"

    await client.run(request, RecordingCaller(person=slow))
    assert seen.names()[3:] == [
        "question_asked", "cancel_requested", "question_answered", "turn_end"
    ]  # fmt: skip
    asked = CancelRequested(request=request.request, reason="enough")
    assert seen.only("cancel_requested") == asked
    settled = seen.only("question_answered")
    assert isinstance(settled, QuestionSettled)
    assert (settled.answered, settled.held) == (True, True)


async def test_a_question_left_open_is_told_as_unanswered(bench: Bench, seen: Seen) -> None:
    tool = FakeTool(name="node_rm", own_tags=GATED)
    await bench.serve(model(call(("u1", "node_rm"))), tools=[tool], prompts={"elicit": True})
    client, request = bench.client(hooks=seen.hooks()), prompt()

    async def think(question: m.AnyQuestion) -> Given:
        assert await client.cancel(request.request)
        await asyncio.Event().wait()
        return "once"

    await client.run(request, RecordingCaller(person=think))
    settled = seen.only("question_answered")
    assert isinstance(settled, QuestionSettled)
    assert (settled.answered, settled.held) == (False, False)
    assert seen.names()[-1] == "turn_end"
