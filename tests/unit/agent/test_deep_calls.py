"""Arguments that no session can hold: the reply counts, the call is answered and never run."""

from __future__ import annotations

import pytest

from fisk_ai.agent.tool_call import TOO_DEEP
from fisk_ai.llm import deep
from fisk_ai.llm.model import Response, TextBlock, ToolResultBlock, ToolUseBlock, Usage
from fisk_ai.sessions.records import Assistant
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [deep.DEPTH_LIMIT + 1, 900, 3000])
async def test_a_call_nested_too_deeply_is_never_run_and_the_model_is_told_so(
    bench: AgentBench, levels: int
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    asked = (ToolUseBlock("a", "look", nested(levels)), ToolUseBlock("b", "look", b'{"n":1}'))
    reply = Response((TextBlock("hm"), *asked), "tool_use", Usage(input=7, output=9))
    result, error = await bench.run(reply, say("done"))
    assert (result.reason, result.text, error) == ("completed", "done", None)
    assert tool.calls == [b'{"n":1}']
    told = bench.model.requests[-1].messages[-1].content[0]
    assert told == ToolResultBlock("a", TOO_DEEP, is_error=True)
    assert bench.events.warnings() == ["arguments_too_deep"]


async def test_a_reply_with_a_call_nested_too_deeply_is_recorded_with_what_it_cost(
    bench: AgentBench,
) -> None:
    bench.tools = [FakeTool(name="look")]
    reply = Response((ToolUseBlock("a", "look", nested(500)),), "tool_use", Usage(7, 9))
    await bench.run(reply, say("done"))
    recorded = next(item for item in await bench.payloads() if isinstance(item, Assistant))
    assert (recorded.in_tokens, recorded.out_tokens) == (7, 9)
    assert recorded.message.content == (ToolUseBlock("a", "look", deep.LEFT_OUT),)


async def test_what_was_left_out_is_not_run_by_a_resume_either(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    stop: list[bool] = []
    asked = Response((ToolUseBlock("a", "look", nested(500)),), "tool_use")

    def parks() -> bool:
        stop.append(True)
        return len(stop) > 1

    parked, _ = await bench.run(asked, suspend_requested=parks)
    assert parked.reason == "suspended"
    result, _ = await bench.resume(say("done"))
    assert (result.reason, tool.calls) == ("completed", [])


async def test_the_deepest_arguments_that_are_kept_can_be_recorded_and_run(
    bench: AgentBench,
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    kept = nested(deep.DEPTH_LIMIT)
    result, error = await bench.run(call(("a", "look", kept)), say("done"))
    assert (result.reason, error, tool.calls) == ("completed", None, [kept])
