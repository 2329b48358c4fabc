"""Tools and hooks that misbehave: none ends the process, the run of another, or holds its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import cast

import pytest

from fisk_ai.agent import apart as apart_module
from fisk_ai.agent import execution, foreign_hooks
from fisk_ai.agent.apart import OutOfTimeError, apart
from fisk_ai.agent.hooks import (
    AtRunEnd,
    Hooks,
    PostToolUse,
    PreModelCall,
    PreToolUse,
    PromptVerdict,
    Replacement,
    ToolVerdict,
    UserPrompt,
)
from fisk_ai.sessions.records import Payload, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory

TENANT = ContextVar("tenant", default="nobody")
Effect = Callable[[bytes], Awaitable[str]]


class MuteError(Exception):
    """Has no words, and fails when asked for them."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


async def exits(raw: bytes) -> str:
    sys.exit(3)


async def interrupts(raw: bytes) -> str:
    raise KeyboardInterrupt


async def closes(raw: bytes) -> str:
    raise GeneratorExit


async def exits_in_company(raw: bytes) -> str:
    raise BaseExceptionGroup("both", [SystemExit(1), KeyboardInterrupt()])


async def raises_what_is_no_exception(raw: bytes) -> str:
    raise BaseException("away")


async def exits_in_a_task_of_its_own(raw: bytes) -> str:
    return await asyncio.to_thread(sys.exit, 3)


async def cancels_itself(raw: bytes) -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "never"


async def is_mute(raw: bytes) -> str:
    raise MuteError


def results(payloads: list[Payload | None]) -> list[ToolResult]:
    return [item for item in payloads if isinstance(item, ToolResult)]


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (exits, 'the tool "odd" tried to end the process (SystemExit) and returned nothing'),
        (interrupts, "tried to end the process (KeyboardInterrupt)"),
        (exits_in_a_task_of_its_own, "tried to end the process (SystemExit)"),
        (closes, "tried to end the process (GeneratorExit)"),
        (exits_in_company, "tried to end the process (BaseExceptionGroup)"),
        (cancels_itself, 'the tool "odd" was cancelled from within and returned nothing'),
        (is_mute, "MuteError"),
    ],
)
async def test_what_no_tool_may_do_is_its_own_failure(
    bench: AgentBench, effect: Effect, words: str
) -> None:
    bench.tools = [FakeTool(name="odd", effect=effect)]
    result, error = await bench.run(call(("a", "odd")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert (result.reason, result.text, error) == ("completed", "sorry", None)
    assert record.result.is_error
    assert words in record.result.content


async def test_a_tool_that_takes_no_notice_of_its_timeout_does_not_hold_the_run(
    bench: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = asyncio.Event()
    goes_on: list[asyncio.Task[object] | None] = []

    async def stubborn(raw: bytes) -> str:
        goes_on.append(asyncio.current_task())
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return "much later"

    monkeypatch.setattr(execution, "GRACE_S", 0.01)
    bench.tools = [FakeTool(name="hang", effect=stubborn)]
    bench.configure(harness={"tool_timeout": "10ms"})
    result, _ = await bench.run(call(("a", "hang")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert result.reason == "completed"
    assert record.result.is_error
    assert "given up by the agent's tool timeout after 10ms" in record.result.content
    (advisory,) = bench.events.of(Advisory)
    assert advisory.kind == "tool_timeout"
    assert advisory.error.endswith("takes no notice of its cancellation and was left behind")
    (task,) = goes_on
    assert task is not None
    assert not task.done()
    let_go.set()
    await task


async def test_code_that_takes_no_notice_does_not_hold_a_run_that_is_cancelled() -> None:
    let_go, begun = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                begun.set()
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    run = asyncio.ensure_future(apart(stubborn, "a stubborn thing", grace_s=0.01))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    let_go.set()
    await asyncio.wait([task for task in asyncio.all_tasks() if "stubborn" in task.get_name()])


async def test_a_run_is_cancelled_behind_code_that_returned_all_the_same() -> None:
    begun = asyncio.Event()

    async def swallows() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        return "never"

    said: list[str] = []

    async def work() -> None:
        said.append(await apart(swallows, "a swallowing thing"))
        await asyncio.sleep(0)
        said.append("went on")

    run = asyncio.ensure_future(work())
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert said == ["done"]


async def test_what_a_hook_sets_for_its_context_a_tool_reads(bench: AgentBench) -> None:
    async def names(prompt: UserPrompt) -> None:
        TENANT.set("acme")

    async def reads(raw: bytes) -> str:
        return TENANT.get()

    bench.tools = [FakeTool(name="who", effect=reads)]
    hooks = Hooks(user_prompt_submit=names)
    await bench.run(call(("a", "who")), say("fine"), hooks=hooks)
    (record,) = results(await bench.payloads())
    assert record.result.content == "acme"


async def test_code_that_fails_when_it_is_stopped_is_still_out_of_time() -> None:
    async def breaks() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("closed twice") from None

    with pytest.raises(OutOfTimeError) as failed:
        await apart(breaks, "a breaking thing", limit_s=0.01)
    assert failed.value.heeded
    assert str(failed.value.__cause__) == "closed twice"


async def exit_hook(told: object) -> None:
    sys.exit(1)


async def cancelling_hook(told: object) -> None:
    raise asyncio.CancelledError


async def self_cancelling_hook(told: object) -> None:
    await cancels_itself(b"")


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (exit_hook, "it tried to end the process (SystemExit)"),
        (cancelling_hook, "it was cancelled from within"),
        (self_cancelling_hook, "it was cancelled from within"),
    ],
)
async def test_what_no_hook_may_do_ends_its_run_as_an_error(
    bench: AgentBench, hook: Callable[[object], Awaitable[None]], words: str
) -> None:
    bench.tools = [FakeTool(name="look")]
    hooks = Hooks(pre_model_call=hook)
    result, error = await bench.run(say("never"), hooks=hooks)
    assert (result.reason, result.crashed) == ("error", False)
    assert str(error) == f"pre_model_call hook: {words}"


@pytest.mark.parametrize("misdeed", [exits, is_mute, raises_what_is_no_exception])
async def test_the_last_hook_can_neither_end_the_process_nor_change_the_outcome(
    bench: AgentBench, misdeed: Effect
) -> None:
    async def end(told: AtRunEnd) -> None:
        await misdeed(b"")

    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("done"), hooks=Hooks(run_end=end))
    assert (result.reason, error) == ("completed", None)
    assert bench.events.warnings() == ["run_end_hook"]


WRONG: list[tuple[str, object, str]] = [
    (
        "pre_tool_use",
        ToolVerdict(rewrite_input=cast("bytes", '{"x":1}')),
        "its rewrite_input is of type str, where bytes is wanted",
    ),
    ("pre_tool_use", {"deny": True}, "it returned a dict, where ToolVerdict or None is wanted"),
    (
        "post_tool_use",
        Replacement(output=cast("str", 5), is_error=False),
        "its output is of type int, where str is wanted",
    ),
    ("user_prompt_submit", "ok", "it returned a str, where PromptVerdict or None is wanted"),
    (
        "user_prompt_submit",
        PromptVerdict(rewrite=cast("str", b"x")),
        "its rewrite is of type bytes, where str is wanted",
    ),
]


@pytest.mark.parametrize(("name", "verdict", "words"), WRONG)
async def test_a_verdict_that_is_none_is_told_instead_of_crashing_the_run(
    bench: AgentBench, name: str, verdict: object, words: str
) -> None:
    async def hook(told: PreToolUse | PostToolUse | UserPrompt) -> object:
        return verdict

    bench.tools = [FakeTool(name="look")]
    hooks = Hooks(**{name: hook})  # pyright: ignore[reportArgumentType] - wrong on purpose
    result, error = await bench.run(call(("a", "look")), say("done"), hooks=hooks)
    assert not result.crashed
    assert str(error) == f"{name} hook: {words}"


async def test_a_hook_that_is_cancelled_with_its_run_is_no_error_of_it(bench: AgentBench) -> None:
    waiting = asyncio.Event()

    async def wait(told: PreModelCall) -> None:
        waiting.set()
        await asyncio.Event().wait()

    bench.tools = [FakeTool(name="look")]
    run = asyncio.ensure_future(bench.run(say("never"), hooks=Hooks(pre_model_call=wait)))
    await waiting.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (await bench.kinds())[-1] == "Terminal"


class HangingEnd:
    """A last hook that never ends by itself; it heeds a cancellation or does not."""

    def __init__(self, *, heeds: bool = True) -> None:
        self.began = asyncio.Event()
        self.let_go = asyncio.Event()
        self.was_cancelled = False
        self._heeds = heeds

    async def __call__(self, told: AtRunEnd) -> None:
        self.began.set()
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.was_cancelled = True
                if self._heeds:
                    raise


async def test_a_last_hook_that_hangs_withholds_no_outcome(
    bench: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_hooks, "RUN_END_S", 0.01)
    hang = HangingEnd()
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("done"), hooks=Hooks(run_end=hang))
    assert (result.reason, result.text, error) == ("completed", "done", None)
    assert hang.was_cancelled
    assert bench.events.of(Advisory) == [
        Advisory(kind="run_end_hook", error="it did not end in time and was cancelled")
    ]


async def test_a_last_hook_that_takes_no_notice_of_its_end_is_left_behind(
    bench: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_hooks, "RUN_END_S", 0.01)
    monkeypatch.setattr(foreign_hooks, "GRACE_S", 0.01)
    hang = HangingEnd(heeds=False)
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("done"), hooks=Hooks(run_end=hang))
    assert (result.text, error) == ("done", None)
    (warning,) = bench.events.of(Advisory)
    assert warning.error == (
        "it did not end in time and was left behind, as cancelling it did nothing"
    )
    hang.let_go.set()


async def test_a_run_that_is_over_and_asked_to_stop_does_not_wait_for_its_last_hook(
    bench: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_hooks, "RUN_END_S", 3600.0)
    monkeypatch.setattr(apart_module, "HURRY_S", 0.01)
    hang = HangingEnd()
    bench.tools = [FakeTool(name="look")]
    result, error = await asyncio.wait_for(
        bench.run(say("done"), hooks=Hooks(run_end=hang), suspend_requested=hang.began.is_set),
        10,
    )
    assert (result.reason, result.text, error) == ("completed", "done", None)
    assert hang.was_cancelled


async def test_cancelling_a_run_that_waits_for_its_last_hook_keeps_the_outcome(
    bench: AgentBench,
) -> None:
    hang = HangingEnd()
    bench.tools = [FakeTool(name="look")]
    run = asyncio.ensure_future(bench.run(say("done"), hooks=Hooks(run_end=hang)))
    await hang.began.wait()
    run.cancel()
    result, error = await run
    assert (result.reason, result.text, error) == ("completed", "done", None)
    assert hang.was_cancelled
    assert run.cancelling() == 0
