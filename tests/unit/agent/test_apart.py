"""Tools and hooks that misbehave: none ends the process, the run of another, or holds its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import fields, replace
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
from fisk_ai.errors import DeferredError, FiskError
from fisk_ai.sessions.records import Payload, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory, CallContext, ExecDeps, ToolOutcome
from fisk_ai.toolkit.functool import FunctionContext, FunctionSpec, FunctionTool, Handler

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


async def raises_a_group(raw: bytes) -> str:
    raise ExceptionGroup("several", [ValueError("one"), FiskError("two")])


async def runs_out(raw: bytes) -> str:
    raise StopIteration


async def runs_out_of_more(raw: bytes) -> str:
    raise StopAsyncIteration("no more")


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
        (exits_in_company, "raised what is no Exception (BaseExceptionGroup) and returned nothing"),
        (
            raises_what_is_no_exception,
            'the tool "odd" raised what is no Exception (BaseException) and returned nothing: away',
        ),
        (raises_a_group, "several (2 sub-exceptions)"),
        (runs_out, "coroutine raised StopIteration"),
        (runs_out_of_more, "no more"),
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


class Plain(FakeTool):
    """Runs in an ordinary function."""

    def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:  # pyright: ignore[reportIncompatibleMethodOverride] - wrong on purpose
        return ToolOutcome(output="done")


class Bare(FakeTool):
    """Returns a text, where an outcome is wanted."""

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        return cast("ToolOutcome", "done")


async def returns_a_number(raw: bytes) -> str:
    return cast("str", 5)


def ordinary_handler(raw: bytes, context: FunctionContext) -> str:
    return "done"


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (Plain(name="odd"), 'the tool "odd" returned a ToolOutcome, which cannot be awaited; '),
        (Bare(name="odd"), 'the tool "odd" returned a str, where a ToolOutcome is wanted'),
        (
            FakeTool(name="odd", effect=returns_a_number),
            'the tool "odd" returned an int, where a str is wanted',
        ),
        (
            FunctionTool(
                FunctionSpec(
                    name="odd",
                    description="Odd.",
                    schema={"type": "object"},
                    handler=cast("Handler", ordinary_handler),
                )
            ),
            'the handler of the tool "odd" is no async function',
        ),
    ],
)
async def test_a_tool_that_returns_what_is_no_result_is_told_in_words(
    bench: AgentBench, tool: FakeTool | FunctionTool, words: str
) -> None:
    bench.tools = [tool]
    result, error = await bench.run(call(("a", "odd")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert (result.reason, error, record.result.is_error) == ("completed", None, True)
    assert record.result.content.startswith(words)


async def test_a_deferral_in_the_company_of_what_is_no_exception_still_counts(
    bench: AgentBench,
) -> None:
    async def defer(raw: bytes) -> str:
        raise BaseExceptionGroup("both", [SystemExit(1), DeferredError("later")])

    bench.tools = [FakeTool(name="odd", effect=defer)]
    result, _ = await bench.run(call(("a", "odd")))
    assert (result.reason, [item.note for item in result.deferred]) == ("suspended", ["later"])


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


BEFORE_THE_LOOP = ("run_start", "user_prompt_submit")
HOOKS = [field.name for field in fields(Hooks) if field.name != "run_end"]


async def exit_hook(told: object) -> None:
    sys.exit(1)


async def cancelling_hook(told: object) -> None:
    raise asyncio.CancelledError


async def self_cancelling_hook(told: object) -> None:
    await cancels_itself(b"")


async def away_hook(told: object) -> None:
    await raises_what_is_no_exception(b"")


def ordinary_hook(told: object) -> None: ...


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        (exit_hook, "it tried to end the process (SystemExit)"),
        (cancelling_hook, "it was cancelled from within"),
        (self_cancelling_hook, "it was cancelled from within"),
        (away_hook, "it raised what is no Exception (BaseException)"),
        (ordinary_hook, "it is no async function and returned a NoneType; write async def"),
    ],
)
@pytest.mark.parametrize("name", HOOKS)
async def test_what_no_hook_may_do_ends_its_run_as_an_error(
    bench: AgentBench, name: str, hook: Callable[[object], Awaitable[None]], words: str
) -> None:
    bench.tools = [FakeTool(name="look")]
    ended: list[AtRunEnd] = []

    async def end(told: AtRunEnd) -> None:
        ended.append(told)

    hooks = replace(Hooks(run_end=end), **{name: hook})
    result, error = await bench.converse(["more"], call(("a", "look")), say("yes"), hooks=hooks)
    assert not result.crashed
    assert str(error) == f"{name} hook: {words}"
    assert [told.reason for told in ended] == ([] if name in BEFORE_THE_LOOP else ["error"])


LAST_WORDS: list[tuple[Effect, str]] = [
    (exits, "it tried to end the process (SystemExit)"),
    (interrupts, "it tried to end the process (KeyboardInterrupt)"),
    (closes, "it tried to end the process (GeneratorExit)"),
    (exits_in_company, "it raised what is no Exception (BaseExceptionGroup): both"),
    (raises_what_is_no_exception, "it raised what is no Exception (BaseException): away"),
    (raises_a_group, "several (2 sub-exceptions)"),
    (runs_out, "coroutine raised StopIteration"),
    (runs_out_of_more, "no more"),
    (cancels_itself, "it was cancelled from within"),
    (is_mute, "MuteError"),
]


@pytest.mark.parametrize(("misdeed", "words"), LAST_WORDS)
async def test_the_last_hook_can_neither_end_the_process_nor_change_the_outcome(
    bench: AgentBench, misdeed: Effect, words: str
) -> None:
    async def end(told: AtRunEnd) -> None:
        await misdeed(b"")

    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("done"), hooks=Hooks(run_end=end))
    assert (result.reason, error) == ("completed", None)
    (warning,) = bench.events.of(Advisory)
    assert warning.kind == "run_end_hook"
    assert warning.error.startswith(words)


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
