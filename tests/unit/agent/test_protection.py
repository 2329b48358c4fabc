"""Personal data on its way to the model, as a whole run treats it."""

from __future__ import annotations

import pytest

from fisk_ai.agent.hooks import Hooks, PostToolUse, PromptVerdict, Replacement, UserPrompt
from fisk_ai.agent.pii import scanner
from fisk_ai.errors import SetupError
from fisk_ai.llm.model import TextBlock, ToolResultBlock
from fisk_ai.sessions.records import Meta, ToolResult
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.bounds import RESULT_LIMIT_BYTES

ADDRESS = "ann.example@example.com"
TOO_LONG = "x" * (scanner.TEXT_LIMIT_BYTES + 1)


@pytest.fixture
def looking(bench: AgentBench) -> AgentBench:
    bench.tools = [FakeTool(name="look", output=f"owner: {ADDRESS}")]
    return bench


def shown(bench: AgentBench) -> str:
    """Return everything the model was sent."""
    return repr([request.messages for request in bench.model.requests])


async def test_a_run_redacts_unless_it_is_told_otherwise(looking: AgentBench) -> None:
    await looking.run(
        call(("a", "look")), say("done"), prompt=f"ask {ADDRESS}", context=f"from {ADDRESS}"
    )
    assert ADDRESS not in shown(looking)
    assert "REDACTED" in shown(looking)
    assert ADDRESS not in repr(await looking.payloads())
    assert looking.events.warnings() == ["pii_redacted"]


async def test_a_guard_that_is_off_changes_nothing(looking: AgentBench) -> None:
    looking.configure(harness={"pii": {"mode": "off"}})
    await looking.run(call(("a", "look")), say("done"), prompt=f"ask {ADDRESS}")
    assert ADDRESS in shown(looking)


async def test_a_rejected_prompt_creates_nothing(looking: AgentBench) -> None:
    looking.configure(harness={"pii": {"mode": "reject"}})
    result, error = await looking.run(prompt=f"ask {ADDRESS}")
    assert result.reason == "error"
    assert "personal data" in str(error)
    assert ADDRESS not in str(error)
    assert await looking.store.list(Filter()) == []


async def test_a_rejected_output_is_withheld_as_an_error(looking: AgentBench) -> None:
    looking.configure(harness={"pii": {"mode": "reject"}})
    result, _ = await looking.run(call(("a", "look")), say("done"))
    (record,) = (item for item in await looking.payloads() if isinstance(item, ToolResult))
    assert record.result.is_error
    assert ADDRESS not in record.result.content
    assert (record.dispatched, result.reason) == (True, "completed")


async def test_what_cannot_be_scanned_is_not_sent(looking: AgentBench) -> None:
    async def after(event: PostToolUse) -> Replacement:
        return Replacement(output=TOO_LONG, is_error=False)

    result, error = await looking.run(prompt=TOO_LONG)
    assert (result.reason, "could not be scanned" in str(error)) == ("error", True)
    await looking.run(call(("a", "look")), say("done"), hooks=Hooks(post_tool_use=after))
    (block,) = looking.model.requests[1].messages[-1].content
    assert isinstance(block, ToolResultBlock)
    assert (block.is_error, len(block.content) < 200) == (True, True)


async def test_the_largest_result_of_a_tool_is_scanned(looking: AgentBench) -> None:
    filler = "word \n" * (RESULT_LIMIT_BYTES // 6 - 10)
    looking.tools = [FakeTool(name="look", output=f"{filler}{ADDRESS}")]
    await looking.run(call(("a", "look")), say("done"))
    (block,) = looking.model.requests[1].messages[-1].content
    assert isinstance(block, ToolResultBlock)
    assert (block.is_error, block.content) == (False, f"{filler}[EMAIL-REDACTED]")


async def test_what_a_hook_rewrote_is_scanned(looking: AgentBench) -> None:
    async def submit(prompt: UserPrompt) -> PromptVerdict:
        return PromptVerdict(rewrite=f"{prompt.text} for {ADDRESS}")

    async def after(event: PostToolUse) -> Replacement:
        return Replacement(output=f"{event.output}, also {ADDRESS}", is_error=False)

    hooks = Hooks(user_prompt_submit=submit, post_tool_use=after)
    await looking.run(call(("a", "look")), say("done"), hooks=hooks)
    assert ADDRESS not in shown(looking)
    meta = (await looking.payloads())[0]
    assert isinstance(meta, Meta)
    assert meta.prompt.startswith("go for [")


async def test_a_follow_up_and_a_prompt_at_a_terminal_are_scanned(looking: AgentBench) -> None:
    await looking.converse([f"tell {ADDRESS}"], say("a"), say("b"))
    assert ADDRESS not in shown(looking)
    looking.session_id = "another"
    await looking.run(say("a"))
    await looking.follow_up(f"tell {ADDRESS}", say("b"))
    assert ADDRESS not in shown(looking)
    assert looking.model.requests[0].messages[-1].content != (TextBlock(f"tell {ADDRESS}"),)


async def test_a_guard_that_cannot_be_built_ends_the_set_up(
    looking: AgentBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> scanner.Scanner:
        raise SetupError("a detector does not compile")

    monkeypatch.setattr(scanner, "build", fail)
    result, error = await looking.run(say("never"))
    assert (result.reason, str(error)) == (None, "a detector does not compile")
    assert looking.model.requests == []
    assert await looking.store.list(Filter()) == []
