from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from fisk_ai.agent import tool_call
from fisk_ai.agent.events import ToolCallEvent, ToolResultEvent
from fisk_ai.errors import PromptAbortedError, ToolError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.sessions.records import Payload, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text import gojson
from fisk_ai.toolkit.contract import (
    Advisory,
    CallContext,
    CommandExec,
    ExecDeps,
    ToolOutcome,
)


def results(payloads: list[Payload | None]) -> list[ToolResult]:
    return [item for item in payloads if isinstance(item, ToolResult)]


async def test_an_unknown_tool_is_warned_of_once(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    calls = [(f"a{number}", f"x{number // 2}") for number in range(100)]
    result, _ = await bench.run(call(*calls), call(("b", "x0")), say("done"))
    names = [f"x{number}" for number in range(tool_call.UNKNOWN_TOOLS)]
    assert [warning.name for warning in bench.events.of(Advisory)] == names
    assert result.stats is not None
    assert result.stats.by_kind["unknown"] == 101


async def test_an_unknown_tool_is_an_error_the_model_can_read(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, _ = await bench.run(call(("a", "lok")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert record == ToolResult(
        tool_use_id="a",
        result=ToolResultBlock("a", 'unknown tool "lok"', is_error=True),
        kind="unknown",
    )
    assert bench.events.of(Advisory) == [Advisory(kind="unknown_tool", name="lok")]
    assert bench.events.of(ToolCallEvent) == []
    assert result.stats is not None
    assert result.stats.by_kind == {"unknown": 1}


async def test_a_call_without_its_required_arguments_does_not_run(bench: AgentBench) -> None:
    tool = FakeTool(name="say", required=("message", "to"), own_tags=("ai:confirm",))
    bench.tools = [tool]
    await bench.run(call(("a", "say", b'{"to":"x"}')), say("sorry"))
    (record,) = results(await bench.payloads())
    assert (record.result.content, record.result.is_error) == ('"say" lacks: message', True)
    assert (record.kind, record.dispatched) == ("custom", False)
    assert tool.calls == []
    assert bench.events.warnings() == ["confirm_no_terminal", "missing_required"]


async def test_a_call_that_ran_is_recorded_as_dispatched(bench: AgentBench) -> None:
    tool = FakeTool(name="look", output="<seen>")
    bench.tools = [tool]
    await bench.run(call(("a", "look", b'{"x":1}')), say("done"))
    assert results(await bench.payloads()) == [
        ToolResult(
            tool_use_id="a",
            result=ToolResultBlock("a", "<seen>"),
            kind="custom",
            dispatched=True,
        )
    ]
    assert tool.calls == [b'{"x":1}']
    assert [context.call_ref for context in tool.contexts] == ["bench/a"]
    (told,) = bench.events.of(ToolResultEvent)
    assert (told.call_id, told.output, told.is_error) == ("a", "<seen>", False)


async def test_the_failure_of_a_tool_is_its_result(bench: AgentBench) -> None:
    async def fail(raw: bytes) -> str:
        raise ToolError("the disk is full")

    bench.tools = [FakeTool(name="write", effect=fail)]
    result, error = await bench.run(call(("a", "write")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert (record.result.content, record.result.is_error) == ("the disk is full", True)
    assert record.dispatched
    assert (result.reason, error) == ("completed", None)


async def test_half_a_surrogate_in_an_output_does_not_break_the_journal(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look", output="a\ud800b")]
    await bench.run(call(("a", "look")), say("done"))
    (record,) = results(await bench.payloads())
    assert record.result.content == "a\ufffdb"


async def test_a_tool_that_takes_too_long_is_stopped_and_said_so(bench: AgentBench) -> None:
    stopped = asyncio.Event()

    async def hang(raw: bytes) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    bench.tools = [FakeTool(name="hang", effect=hang)]
    bench.configure(harness={"tool_timeout": "20ms"})
    await bench.run(call(("a", "hang")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert stopped.is_set()
    assert record.result.is_error
    assert "after 20ms" in record.result.content
    assert "tool_timeout" not in record.result.content
    assert bench.events.of(Advisory) == [
        Advisory(kind="tool_timeout", name="hang", error="did not finish within 20ms")
    ]


async def test_a_call_that_succeeds_past_its_deadline_keeps_its_result(bench: AgentBench) -> None:
    async def stubborn(raw: bytes) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "late but done"
        return ""

    bench.tools = [FakeTool(name="slow", effect=stubborn)]
    bench.configure(harness={"tool_timeout": "20ms"})
    await bench.run(call(("a", "slow")), say("done"))
    (record,) = results(await bench.payloads())
    assert (record.result.content, record.result.is_error) == ("late but done", False)
    assert bench.events.warnings() == []


async def test_a_tool_paced_by_a_person_has_no_deadline(bench: AgentBench) -> None:
    async def ask(raw: bytes) -> str:
        await asyncio.wait_for(asyncio.shield(soon()), 5)
        return "yes"

    async def soon() -> None:
        loop = asyncio.get_running_loop()
        passed = loop.create_future()
        loop.call_later(0.05, passed.set_result, None)
        await passed

    bench.tools = [FakeTool(name="ask", effect=ask, operator_paced=True)]
    bench.configure(harness={"tool_timeout": "10ms"})
    await bench.run(call(("a", "ask")), say("done"))
    (record,) = results(await bench.payloads())
    assert record.result.content == "yes"


async def test_a_timeout_inside_a_tool_is_its_own_error(bench: AgentBench) -> None:
    async def give_up(raw: bytes) -> str:
        raise TimeoutError("upstream did not answer")

    bench.tools = [FakeTool(name="fetch", effect=give_up)]
    await bench.run(call(("a", "fetch")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert record.result.content == "upstream did not answer"


async def test_an_interrupted_question_of_a_tool_suspends_without_a_result(
    bench: AgentBench,
) -> None:
    async def ask(raw: bytes) -> str:
        raise RuntimeError("wrapped") from PromptAbortedError("the terminal went away")

    bench.tools = [FakeTool(name="ask", effect=ask)]
    result, error = await bench.run(call(("a", "ask")))
    assert (result.reason, str(error)) == ("suspended", "the terminal went away")
    assert results(await bench.payloads()) == []


async def test_a_tool_that_cancels_itself_does_not_cancel_the_run(bench: AgentBench) -> None:
    async def stumble(raw: bytes) -> str:
        raise asyncio.CancelledError

    bench.tools = [FakeTool(name="fetch", effect=stumble)]
    result, _ = await bench.run(call(("a", "fetch")), say("sorry"))
    (record,) = results(await bench.payloads())
    assert (record.result.is_error, result.reason) == (True, "completed")


async def test_calls_of_a_batch_run_one_after_another(bench: AgentBench) -> None:
    order: list[str] = []

    async def slow(raw: bytes) -> str:
        order.append("slow starts")
        await asyncio.sleep(0)
        order.append("slow ends")
        return ""

    async def quick(raw: bytes) -> str:
        order.append("quick")
        return ""

    bench.tools = [FakeTool(name="slow", effect=slow), FakeTool(name="quick", effect=quick)]
    await bench.run(call(("a", "slow"), ("b", "quick")), say("done"))
    assert order == ["slow starts", "slow ends", "quick"]


class Bare:
    """A tool with no ability but to run: it has no kind, no gate and no display of its own."""

    name = "bare"
    description = model_description = "runs"
    mcp_exposable = a2a_exposable = False

    def input_schema(self) -> Mapping[str, object]:
        return {"type": "object"}

    def definition(self, *, defer_loading: bool) -> ToolDef:
        return ToolDef(self.name, self.description, self.input_schema(), defer_loading)

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        command = CommandExec(command="bare --all", exit_code=3)
        return ToolOutcome(output="no such file", exec=command)


async def test_a_tool_needs_no_ability_beyond_running(bench: AgentBench) -> None:
    bench.tools = [Bare()]
    await bench.run(call(("a", "bare")), say("done"))
    (record,) = results(await bench.payloads())
    assert (record.kind, record.dispatched) == ("unknown", True)
    (told,) = bench.events.of(ToolCallEvent)
    assert (told.display, told.display_short) == ("bare", "bare")


async def test_the_exit_status_of_a_command_is_an_answer(bench: AgentBench) -> None:
    bench.tools = [Bare()]
    await bench.run(call(("a", "bare")), say("done"))
    (record,) = results(await bench.payloads())
    assert not record.result.is_error
    assert gojson.loads(record.result.content) == {
        "command": "bare --all",
        "exit_code": 3,
        "output": "no such file",
    }


async def test_a_run_that_is_stopped_is_not_told_of_a_timeout(bench: AgentBench) -> None:
    runs: list[asyncio.Task[object]] = []

    async def hang(raw: bytes) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            runs[0].cancel()
            raise ToolError("cut off") from None
        return ""

    bench.tools = [FakeTool(name="hang", effect=hang)]
    bench.configure(harness={"tool_timeout": "20ms"})
    runs.append(asyncio.ensure_future(bench.run(call(("a", "hang")))))
    with pytest.raises(asyncio.CancelledError):
        await runs[0]
    assert "tool_timeout" not in bench.events.warnings()
