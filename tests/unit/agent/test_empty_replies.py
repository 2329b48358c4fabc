"""A reply that says nothing is an answer, and the conversation can go on behind it."""

from __future__ import annotations

import pytest

from fisk_ai.llm.model import (
    Block,
    Message,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.testing.agent import AgentBench, say
from fisk_ai.testing.tools import FakeTool

BLANK: list[tuple[Block, ...]] = [(), (TextBlock(""),), (TextBlock("\n\n"),)]


@pytest.mark.parametrize("content", BLANK, ids=["nothing", "empty", "blank"])
async def test_an_empty_reply_completes_and_a_follow_up_sends_no_empty_message(
    bench: AgentBench, content: tuple[Block, ...]
) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(Response(content, "end_turn"))
    assert (result.reason, result.text.strip(), error) == ("completed", "", None)
    result, error = await bench.follow_up("and now?", say("here"))
    assert (result.reason, result.text, error) == ("completed", "here", None)
    assert bench.model.requests[0].messages == (
        Message("user", (TextBlock("go"), TextBlock("and now?"))),
    )
    state = await bench.store.load(bench.session_id)
    assert state.messages[1] == Message("assistant", content)


async def test_blank_prose_in_front_of_a_call_is_not_sent_back(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    thought, asked = ThinkingBlock("hm", b"sig"), ToolUseBlock("a", "look")
    await bench.run(Response((thought, TextBlock("\n"), asked), "tool_use"), say("done"))
    assert bench.model.requests[1].messages == (
        Message("user", (TextBlock("go"),)),
        Message("assistant", (thought, asked)),
        Message("user", (ToolResultBlock("a", "done"),)),
    )
