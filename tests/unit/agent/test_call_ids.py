"""Calls under an id that is taken or empty: each gets its own, so that each gets its result."""

from __future__ import annotations

import pytest

from fisk_ai.agent.call_ids import with_own_ids
from fisk_ai.agent.events import ToolCallEvent
from fisk_ai.llm.model import Message, Response, TextBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.records import ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool


def looking(bench: AgentBench) -> FakeTool:
    async def look(raw: bytes) -> str:
        return f"saw {raw.decode()}"

    tool = FakeTool(name="look", effect=look)
    bench.tools = [tool]
    return tool


def pairs(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    """Return the arguments of each call beside the result that goes by its id."""
    blocks = [block for message in messages for block in message.content]
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    assert [result.tool_use_id for result in results] == [asked.id for asked in calls]
    assert len({asked.id for asked in calls} - {""}) == len(calls)
    return [
        (asked.input.decode(), result.content) for asked, result in zip(calls, results, strict=True)
    ]


@pytest.mark.parametrize("name", ["look", ""])
async def test_two_calls_of_one_reply_under_one_id_both_run_and_have_their_own_results(
    bench: AgentBench, name: str
) -> None:
    tool = looking(bench)
    twice = call((name, "look", b'{"n":1}'), (name, "look", b'{"n":2}'))
    result, error = await bench.run(twice, say("done"))
    assert (result.reason, error, len(tool.calls)) == ("completed", None, 2)
    wanted = [('{"n":1}', 'saw {"n":1}'), ('{"n":2}', 'saw {"n":2}')]
    assert pairs(bench.model.requests[-1].messages) == wanted
    state = await bench.store.load(bench.session_id)
    assert pairs(state.messages) == wanted
    assert (state.pending, state.status) == (None, "completed")
    assert len({event.id for event in bench.events.of(ToolCallEvent)}) == 2


async def test_an_id_of_an_earlier_reply_is_taken_too(bench: AgentBench) -> None:
    tool = looking(bench)
    await bench.run(call(("a", "look", b'{"n":1}')), say("done"))
    await bench.follow_up("again", call(("a", "look", b'{"n":2}')), say("done"))
    assert [asked for asked, _ in pairs(bench.model.requests[-1].messages)] == [
        *('{"n":1}', '{"n":2}')
    ]
    assert len({context.call_ref for context in tool.contexts}) == 2


async def test_a_batch_under_one_id_is_resumed_where_it_stopped(bench: AgentBench) -> None:
    tool = looking(bench)
    twice = call(("a", "look", b'{"n":1}'), ("a", "look", b'{"n":2}'))
    await bench.run(twice, suspend_requested=lambda: bool(tool.calls))
    result, _ = await bench.resume(say("done"))
    assert result.reason == "completed"
    assert tool.calls == [b'{"n":1}', b'{"n":2}']
    assert sum(isinstance(item, ToolResult) for item in await bench.payloads()) == 2


def test_ids_that_are_free_and_everything_else_of_a_reply_stay_as_they_are() -> None:
    reply = Response((TextBlock("x"), ToolUseBlock("a", "look"), ToolUseBlock("b", "look")), "end")
    assert with_own_ids(reply, {"another"}) == reply
