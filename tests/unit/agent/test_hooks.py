"""The hooks of a run: when they are called, what they are told, what their word does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from fisk_ai.agent.hooks import (
    AtRunEnd,
    Hooks,
    PostModelCall,
    PreModelCall,
    PromptVerdict,
    RunStart,
    UserPrompt,
)
from fisk_ai.agent.options import Checkpoint
from fisk_ai.errors import (
    ConfigError,
    DriftError,
    FiskError,
    PanicError,
    ProviderError,
    RefusedError,
)
from fisk_ai.llm.model import Message, TextBlock
from fisk_ai.sessions.records import Meta, User
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


class Watching:
    """Hooks that keep what they were told, in one list."""

    def __init__(self) -> None:
        self.told: list[object] = []

    async def see(self, event: object) -> None:
        self.told.append(event)

    @property
    def hooks(self) -> Hooks:
        return Hooks(
            run_start=self.see,
            user_prompt_submit=self.see,
            pre_model_call=self.see,
            post_model_call=self.see,
            pre_tool_use=self.see,
            post_tool_use=self.see,
            turn_end=self.see,
            run_end=self.see,
        )

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.told]

    def ends(self) -> list[AtRunEnd]:
        return [event for event in self.told if isinstance(event, AtRunEnd)]


def answering(verdict: Callable[[UserPrompt], PromptVerdict | None]) -> Hooks:
    async def submit(prompt: UserPrompt) -> PromptVerdict | None:
        return verdict(prompt)

    return Hooks(user_prompt_submit=submit)


def refusing(text: str = "not today") -> Callable[[object], Awaitable[None]]:
    async def refuse(event: object) -> None:
        raise FiskError(text)

    return refuse


@pytest.fixture
def looking(bench: AgentBench) -> AgentBench:
    bench.tools = [FakeTool(name="look"), FakeTool(name="aim")]
    return bench


async def test_hooks_are_called_in_the_order_of_the_loop(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(call(("a", "look")), say("done"), hooks=watching.hooks)
    assert watching.names() == [
        *("RunStart", "UserPrompt"),
        *("PreModelCall", "PostModelCall", "PreToolUse", "PostToolUse"),
        *("PreModelCall", "PostModelCall"),
        "AtRunEnd",
    ]


async def test_a_run_announces_what_it_is(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(say("hello"), hooks=watching.hooks)
    await looking.follow_up("more", say("again"))
    start = RunStart(
        session_id="bench",
        resumed=False,
        interactive=False,
        model="m",
        tool_names=("aim", "look"),
    )
    assert watching.told[0] == start
    resumed = Watching()
    checkpoint = Checkpoint(resume_id="bench", follow_up=True)
    await looking.run(say("again"), checkpoint=checkpoint, hooks=resumed.hooks)
    assert resumed.told[0] == replace(start, resumed=True)


async def test_the_announcement_names_tools_behind_the_search(bench: AgentBench) -> None:
    watching = Watching()
    bench.tools = [FakeTool(name=f"t{number}") for number in range(10)]
    await bench.run(say("hello"), hooks=watching.hooks)
    start = watching.told[0]
    assert isinstance(start, RunStart)
    assert len(start.tool_names) == 10
    assert bench.model.requests[0].tool_search


async def test_a_refused_run_leaves_no_session(looking: AgentBench) -> None:
    result, error = await looking.run(hooks=Hooks(run_start=refusing()))
    assert (result.reason, str(error)) == (None, "run_start hook: not today")
    assert await looking.store.list(Filter()) == []


async def test_a_resume_is_announced_before_it_is_refused(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(ProviderError("busy"))
    looking.configure(system_prompt="other")
    _, error = await looking.run(
        checkpoint=Checkpoint(resume_id="bench"), prompt="", hooks=watching.hooks
    )
    assert isinstance(error, DriftError)
    assert watching.names() == ["RunStart"]


async def test_a_stored_answer_calls_no_hook(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(say("hello"))
    result, _ = await looking.run(hooks=watching.hooks)
    assert (result.text, watching.told) == ("hello", [])


async def test_a_denied_first_prompt_creates_nothing(looking: AgentBench) -> None:
    watching = Watching()
    deny = answering(lambda _: PromptVerdict(deny=True, reason="no secrets"))
    hooks = replace(watching.hooks, user_prompt_submit=deny.user_prompt_submit)
    result, error = await looking.run(hooks=hooks)
    assert result.reason == "error"
    assert result.stats is not None
    assert str(error) == "the initial prompt was rejected by a policy hook: no secrets"
    assert await looking.store.list(Filter()) == []
    assert (looking.model.requests, watching.names()) == ([], ["RunStart"])


async def test_a_rewritten_prompt_is_what_the_model_and_the_session_have(
    looking: AgentBench,
) -> None:
    hooks = answering(
        lambda prompt: PromptVerdict(rewrite=f"{prompt.part} {len(prompt.text)} {prompt.initial}")
    )
    await looking.run(say("hello"), prompt="my secret", context="a log", hooks=hooks)
    assert looking.model.requests[0].messages == (
        Message("user", (TextBlock("prompt 9 True"), TextBlock("context 5 True"))),
    )
    meta, user, *_ = await looking.payloads()
    assert isinstance(meta, Meta)
    assert isinstance(user, User)
    assert (meta.prompt, user.message.content) == (
        "prompt 9 True",
        (TextBlock("context 5 True"),),
    )


async def test_a_context_may_be_denied_on_its_own(looking: AgentBench) -> None:
    hooks = answering(lambda prompt: PromptVerdict(deny=prompt.part == "context", reason="a key"))
    result, error = await looking.run(context="a log", hooks=hooks)
    assert (result.reason, "a key" in str(error)) == ("error", True)
    assert await looking.store.list(Filter()) == []


async def test_a_prompt_rewritten_to_nothing_becomes_the_default(looking: AgentBench) -> None:
    hooks = answering(lambda _: PromptVerdict(rewrite=""))
    await looking.run(say("hello"), hooks=hooks)
    assert looking.model.requests[0].messages == (Message("user", (TextBlock("assist the user"),)),)


async def test_a_prompt_of_a_resumed_session_is_not_vetted_again(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(ProviderError("busy"))
    await looking.run(say("hello"), hooks=watching.hooks)
    assert "UserPrompt" not in watching.names()


async def test_a_context_written_after_a_crash_is_vetted(looking: AgentBench) -> None:
    await looking.run(ProviderError("busy"))
    hooks = answering(lambda prompt: PromptVerdict(rewrite=f"clean {prompt.part}"))
    await looking.run(say("hello"), context="a log", hooks=hooks)
    assert looking.model.requests[0].messages[0].content == (
        TextBlock("go"),
        TextBlock("clean context"),
    )


async def test_a_follow_up_is_rewritten_before_it_is_recorded(looking: AgentBench) -> None:
    await looking.run(say("hello"))
    hooks = answering(lambda prompt: PromptVerdict(rewrite=f"{prompt.part} {prompt.initial}"))
    checkpoint = Checkpoint(resume_id="bench", follow_up=True)
    await looking.run(say("again"), checkpoint=checkpoint, prompt="x", context="y", hooks=hooks)
    (user,) = (item for item in await looking.payloads() if isinstance(item, User))
    assert user.message.content == (TextBlock("prompt False"), TextBlock("context False"))


async def test_a_denied_follow_up_ends_the_run_and_is_not_taken(looking: AgentBench) -> None:
    await looking.run(say("hello"))
    hooks = answering(lambda _: PromptVerdict(deny=True))
    checkpoint = Checkpoint(resume_id="bench", follow_up=True)
    result, error = await looking.run(checkpoint=checkpoint, prompt="x", hooks=hooks)
    assert (result.reason, result.follow_up_taken) == ("error", False)
    assert str(error) == ("the follow-up prompt was rejected by a policy hook: no reason was given")
    assert "User" not in await looking.kinds()


async def test_model_calls_are_counted_to_their_hooks(looking: AgentBench) -> None:
    watching = Watching()
    first = call(("a", "look"), ("b", "look"))
    await looking.run(first, say("done"), hooks=watching.hooks)
    before = [event for event in watching.told if isinstance(event, PreModelCall)]
    after = [event for event in watching.told if isinstance(event, PostModelCall)]
    assert before == [
        PreModelCall(iteration=0, model="m", messages=1, tools=2),
        PreModelCall(iteration=1, model="m", messages=3, tools=2),
    ]
    assert [(event.iteration, event.terminal, event.tool_calls) for event in after] == [
        (0, False, 2),
        (1, True, 0),
    ]
    assert after[0].response.content == first.content


async def test_a_truncated_reply_is_no_end_to_its_hook(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(say("a bit", stop_reason="max_tokens"), hooks=watching.hooks)
    (after,) = (event for event in watching.told if isinstance(event, PostModelCall))
    assert not after.terminal
    assert looking.events.recorded[-1].terminal


@pytest.mark.parametrize(
    "hook",
    [*("user_prompt_submit", "pre_model_call", "post_model_call", "pre_tool_use", "post_tool_use")],
)
async def test_the_error_of_a_hook_ends_the_run_under_its_name(
    looking: AgentBench, hook: str
) -> None:
    hooks = Hooks(**{hook: refusing()})
    result, error = await looking.run(call(("a", "look")), hooks=hooks)
    assert isinstance(error, RefusedError)
    assert str(error) == f"{hook} hook: not today"
    assert result.reason == (None if hook == "user_prompt_submit" else "error")


@pytest.mark.parametrize(
    "hook",
    [
        *("run_start", "user_prompt_submit", "pre_model_call", "post_model_call"),
        *("pre_tool_use", "post_tool_use"),
    ],
)
async def test_a_bug_in_a_hook_says_nothing_of_its_cause(looking: AgentBench, hook: str) -> None:
    async def stumble(event: object) -> None:
        raise ZeroDivisionError("the password is hunter2")

    result, error = await looking.run(call(("a", "look")), hooks=Hooks(**{hook: stumble}))
    assert (result.reason, result.crashed) == (None, True)
    assert isinstance(error, PanicError)
    assert "hunter2" not in str(error)
    assert looking.events.names()[-1] == "panicked"


async def test_the_end_is_told_once_with_a_copy_of_the_counters(looking: AgentBench) -> None:
    watching = Watching()
    result, _ = await looking.run(call(("a", "look")), say("done"), hooks=watching.hooks)
    (end,) = watching.ends()
    assert (end.session_id, end.reason, end.crashed, end.error) == (
        *("bench", "completed"),
        False,
        None,
    )
    assert end.stats == result.stats
    assert result.stats is not None
    assert end.stats is not result.stats
    assert end.stats.by_kind is not result.stats.by_kind


async def test_the_end_of_a_failed_run_has_its_error(looking: AgentBench) -> None:
    watching = Watching()
    _, error = await looking.run(ProviderError("busy"), hooks=watching.hooks)
    (end,) = watching.ends()
    assert (end.reason, end.error) == ("error", error)


async def test_the_end_of_a_crash_says_crashed_and_nothing_else(looking: AgentBench) -> None:
    watching = Watching()
    await looking.run(ZeroDivisionError("boom"), hooks=watching.hooks)
    (end,) = watching.ends()
    assert (end.crashed, end.reason, end.error, end.session_id) == (True, None, None, "bench")


@pytest.mark.parametrize("tools", [[], [FakeTool(name="look"), FakeTool(name="look")]])
async def test_a_failed_set_up_has_no_end(bench: AgentBench, tools: list[FakeTool]) -> None:
    watching = Watching()
    bench.tools = tools
    _, error = await bench.run(hooks=watching.hooks)
    assert isinstance(error, ConfigError)
    assert watching.told == []


@pytest.mark.parametrize("error", [FiskError("late"), ZeroDivisionError("late")])
async def test_a_failing_last_hook_changes_nothing(looking: AgentBench, error: Exception) -> None:
    async def stumble(event: AtRunEnd) -> None:
        raise error

    result, failure = await looking.run(say("hello"), hooks=Hooks(run_end=stumble))
    assert (result.reason, result.text, failure) == ("completed", "hello", None)
    assert looking.events.of(Advisory) == [Advisory(kind="run_end_hook", error="late")]


async def test_the_session_is_let_go_before_the_last_hook(looking: AgentBench) -> None:
    async def take(event: AtRunEnd) -> None:
        await (await looking.store.open(event.session_id)).close()

    await looking.run(say("hello"), hooks=Hooks(run_end=take))
    assert looking.events.warnings() == []
