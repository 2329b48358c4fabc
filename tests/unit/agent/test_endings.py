"""What is told once of a run that is over: its trace, its last hook, its crash."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.agent.events import DiscardEvents, Starting, ToolResultEvent
from fisk_ai.agent.hooks import AtRunEnd, Hooks, PreToolUse
from fisk_ai.errors import PanicError, ProviderError
from fisk_ai.llm.model import Request, Response, Usage
from fisk_ai.llm.provider import DeltaSink
from fisk_ai.llm.trace import TraceSummary
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


class Trace:
    """Keeps the summaries it is given; ``failure`` is why a line was lost."""

    def __init__(self, failure: str = "") -> None:
        self.summaries: list[TraceSummary] = []
        self.failure = failure

    async def summary(self, summary: TraceSummary) -> None:
        self.summaries.append(summary)

    def take_failure(self) -> str:
        failure, self.failure = self.failure, ""
        return failure


class Silent(ScriptedProvider):
    """Says that it was asked and never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        self.asked.set()
        await asyncio.Event().wait()
        return await super().call(request, on_delta)


@pytest.fixture
def looking(bench: AgentBench) -> AgentBench:
    bench.tools = [FakeTool(name="look")]
    return bench


async def test_a_trace_is_closed_with_what_the_run_did(looking: AgentBench) -> None:
    trace = Trace()
    await looking.run(call(("a", "look"), ("b", "look")), say("done"), trace=trace)
    (summary,) = trace.summaries
    assert summary.duration_ms >= 0
    assert summary == TraceSummary(
        session="bench",
        suspended=False,
        llm_calls=2,
        tool_calls=2,
        remote_tool_calls=0,
        by_kind={"custom": 2},
        usage=Usage(input=2, output=2),
        duration_ms=summary.duration_ms,
    )
    (starting,) = looking.events.of(Starting)
    assert starting.traced


async def test_the_trace_of_a_failed_a_parked_and_a_crashed_run_is_closed_too(
    looking: AgentBench,
) -> None:
    trace = Trace()
    await looking.run(ProviderError("busy"), trace=trace)
    await looking.run(trace=trace, suspend_requested=lambda: True)
    await looking.run(ZeroDivisionError("boom"), trace=trace)
    assert [summary.suspended for summary in trace.summaries] == [False, True, False]


async def test_a_set_up_that_failed_has_nothing_to_trace(bench: AgentBench) -> None:
    trace = Trace()
    await bench.run(trace=trace)
    assert trace.summaries == []


async def test_a_line_the_trace_lost_is_told_once(looking: AgentBench) -> None:
    trace = Trace("the disk is full")
    result, error = await looking.run(say("hello"), trace=trace)
    assert (result.reason, error) == ("completed", None)
    assert looking.events.of(Advisory) == [Advisory(kind="trace_write", error="the disk is full")]
    await looking.run(say("hello"), trace=trace)
    assert looking.events.warnings() == []


async def test_a_cancelled_run_tells_its_end_once(looking: AgentBench) -> None:
    ends: list[AtRunEnd] = []
    model = Silent()

    async def keep(event: AtRunEnd) -> None:
        ends.append(event)

    task = asyncio.ensure_future(looking.run(provider=model, hooks=Hooks(run_end=keep)))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(end.reason, end.crashed) for end in ends] == [("suspended", False)]


async def test_a_crash_names_the_session_it_met_and_hides_its_cause(looking: AgentBench) -> None:
    async def fail(event: PreToolUse) -> None:
        raise LookupError("the password is hunter2")

    hooks = Hooks(pre_tool_use=fail)
    result, error = await looking.run(call(("a", "look")), hooks=hooks)
    assert (result.session_id, result.reason, result.crashed) == ("bench", None, True)
    assert result.stats is not None
    assert result.stats.llm_calls == 1
    assert isinstance(error, PanicError)
    assert "hunter2" not in str(error)
    await (await looking.store.open("bench")).close()


async def test_the_last_hook_of_a_crash_comes_before_its_stack_is_handed_over(
    looking: AgentBench,
) -> None:
    order: list[str] = []

    async def end(event: AtRunEnd) -> None:
        order.append(f"run_end crashed={event.crashed}")
        raise ZeroDivisionError("a second crash")

    class Keeping(DiscardEvents):
        async def panicked(self, error: BaseException, stack: str) -> None:
            order.append(f"panicked {error} {'test_endings' in stack}")
            raise ZeroDivisionError("a third crash")

    async def fail(event: object) -> None:
        raise LookupError("the first")

    hooks = Hooks(pre_model_call=fail, run_end=end)
    result, error = await looking.run(events=Keeping(), hooks=hooks)
    assert order == ["run_end crashed=True", "panicked the first True"]
    assert (result.crashed, isinstance(error, PanicError)) == (True, True)


async def test_a_crash_while_a_run_is_set_up_has_no_end(looking: AgentBench) -> None:
    ends: list[AtRunEnd] = []

    async def keep(event: AtRunEnd) -> None:
        ends.append(event)

    async def fail(event: object) -> None:
        raise LookupError("early")

    result, _ = await looking.run(hooks=Hooks(run_start=fail, run_end=keep))
    assert (result.crashed, result.session_id, ends) == (True, "", [])


async def test_a_persons_time_is_kept_apart_from_the_tools(looking: AgentBench) -> None:
    looking.tools = [
        FakeTool(name="remove", own_tags=("ai:confirm",)),
        FakeTool(name="ask", operator_paced=True),
        FakeTool(name="look"),
    ]
    looking.prompter = ScriptedPrompter(["once"])
    await looking.run(call(("a", "remove"), ("b", "ask"), ("c", "look")), say("done"))
    gated, paced, free = looking.events.of(ToolResultEvent)
    assert gated.tool_s > 0
    assert gated.person_s > 0
    assert (paced.tool_s, paced.person_s > 0) == (0.0, True)
    assert (free.tool_s > 0, free.person_s) == (True, 0.0)


async def test_a_sink_that_crashes_on_the_last_warning_has_the_end_told_once(
    looking: AgentBench,
) -> None:
    ends: list[bool] = []

    async def end(event: AtRunEnd) -> None:
        ends.append(event.crashed)
        raise LookupError("late")

    class Brittle(DiscardEvents):
        async def warn(self, advisory: Advisory) -> None:
            raise ZeroDivisionError(advisory.kind)

    result, error = await looking.run(say("hello"), events=Brittle(), hooks=Hooks(run_end=end))
    assert (result.crashed, isinstance(error, PanicError), ends) == (True, True, [False])
