"""Calls whose answer comes later, and what closes them."""

from __future__ import annotations

import asyncio

import pytest

from fisk_ai.agent.events import ToolCallEvent, ToolResultEvent
from fisk_ai.agent.hooks import Hooks, PostToolUse
from fisk_ai.agent.options import Checkpoint, DeferredCall, SuppliedAnswer
from fisk_ai.errors import (
    AlreadyAnsweredError,
    DeferredError,
    NotDeferredError,
    ProviderError,
    RefusedError,
    ResultTooLargeError,
)
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.records import Deferred, Terminal, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


@pytest.fixture
def phone() -> FakeTool:
    async def later(raw: bytes) -> str:
        raise DeferredError("asked on the phone", "ticket 7")

    return FakeTool(name="phone", effect=later)


@pytest.fixture
async def waiting(bench: AgentBench, phone: FakeTool) -> AgentBench:
    """A session whose call ``a`` waits for its answer, with a result beside it."""
    bench.tools = [phone, FakeTool(name="look", output="seen")]
    await bench.run(call(("a", "phone"), ("b", "look")))
    return bench


def answer(content: str = "they said yes", call_id: str = "a", tool: str = "") -> SuppliedAnswer:
    return SuppliedAnswer(tool_use_id=call_id, content=content, tool_name=tool)


async def test_a_deferred_call_waits_while_the_rest_of_its_batch_runs(
    bench: AgentBench, phone: FakeTool
) -> None:
    look = FakeTool(name="look", output="seen")
    bench.tools = [phone, look]
    result, error = await bench.run(call(("a", "phone"), ("b", "look")))
    assert (result.reason, error, len(look.calls)) == ("suspended", None, 1)
    assert result.deferred == (
        DeferredCall(
            tool_use_id="a", tool_name="phone", note="asked on the phone", handle="ticket 7"
        ),
    )
    assert await bench.kinds() == ["Meta", "Assistant", "Deferred", "ToolResult", "Terminal"]
    payloads = await bench.payloads()
    assert payloads[2] == Deferred(
        tool_use_id="a", tool_name="phone", note="asked on the phone", handle="ticket 7"
    )
    assert payloads[-1] == Terminal(reason="suspended")
    assert len(bench.model.requests) == 1


async def test_a_deferral_is_told_and_has_no_result_event(
    bench: AgentBench, phone: FakeTool
) -> None:
    bench.tools = [phone]
    result, _ = await bench.run(call(("a", "phone")))
    assert [event.id for event in bench.events.of(ToolCallEvent)] == ["a"]
    assert bench.events.of(ToolResultEvent) == []
    assert bench.events.of(Advisory) == [
        Advisory(kind="tool_deferred", name="phone", error="asked on the phone (ticket 7)")
    ]
    assert result.stats is not None
    assert result.stats.tool_calls == 1


async def test_a_deferral_is_found_inside_what_wraps_it(bench: AgentBench) -> None:
    async def later(raw: bytes) -> str:
        raise RuntimeError("wrapped") from DeferredError("x" * 600, "h\x1b[31m" + "y" * 300)

    bench.tools = [FakeTool(name="phone", effect=later)]
    result, _ = await bench.run(call(("a", "phone")))
    (waits,) = result.deferred
    assert waits.note == "x" * 500
    assert waits.handle.startswith("hy")
    assert len(waits.handle) <= 200


async def test_a_deferred_call_reaches_no_result_hook(bench: AgentBench, phone: FakeTool) -> None:
    seen: list[PostToolUse] = []

    async def keep(event: PostToolUse) -> None:
        seen.append(event)

    bench.tools = [phone]
    await bench.run(call(("a", "phone")), hooks=Hooks(post_tool_use=keep))
    assert seen == []


async def test_a_grant_is_recorded_behind_a_deferred_call(bench: AgentBench) -> None:
    async def later(raw: bytes) -> str:
        raise DeferredError("later")

    bench.tools = [FakeTool(name="phone", own_tags=("ai:confirm",), effect=later)]
    bench.prompter = ScriptedPrompter(["always"])
    await bench.run(call(("a", "phone")))
    assert await bench.kinds() == ["Meta", "Assistant", "Deferred", "Decision", "Terminal"]


async def test_a_gate_whose_answer_comes_later_defers_its_call(bench: AgentBench) -> None:
    remove, look = FakeTool(name="remove", own_tags=("ai:confirm",)), FakeTool(name="look")
    bench.tools = [remove, look]
    bench.prompter = ScriptedPrompter([DeferredError("asked by mail")])
    result, _ = await bench.run(call(("a", "remove"), ("b", "look")))
    assert (result.reason, remove.calls, len(look.calls)) == ("suspended", [], 1)
    assert [item.note for item in result.deferred] == ["asked by mail"]
    assert bench.events.of(ToolCallEvent)[0].id == "b"


async def test_a_resume_without_an_answer_parks_again_and_calls_nobody(
    waiting: AgentBench, phone: FakeTool
) -> None:
    result, _ = await waiting.resume()
    assert (result.reason, waiting.model.requests, len(phone.calls)) == ("suspended", [], 1)
    assert [item.tool_use_id for item in result.deferred] == ["a"]
    assert (await waiting.kinds())[-2:] == ["Claim", "Terminal"]


@pytest.mark.parametrize("tool", ["", "phone"])
async def test_an_answer_completes_its_call_and_the_run_goes_on(
    waiting: AgentBench, phone: FakeTool, tool: str
) -> None:
    result, error = await waiting.resume(say("fine"), answer=answer(tool=tool))
    assert (result.reason, result.text, error) == ("completed", "fine", None)
    assert len(phone.calls) == 1
    kinds = await waiting.kinds()
    assert kinds[-4:] == ["Claim", "ToolResult", "Assistant", "Terminal"]
    supplied = [item for item in await waiting.payloads() if isinstance(item, ToolResult)][-1]
    assert supplied == ToolResult(
        tool_use_id="a", result=ToolResultBlock("a", "they said yes"), kind="", dispatched=False
    )
    (request,) = waiting.model.requests
    assert {block.tool_use_id for block in results_of(request.messages[-1].content)} == {"a", "b"}
    assert result.stats is not None
    assert result.stats.tool_calls == 2


def results_of(content: tuple[object, ...]) -> list[ToolResultBlock]:
    return [block for block in content if isinstance(block, ToolResultBlock)]


async def test_an_answer_may_be_an_error(waiting: AgentBench) -> None:
    failed = SuppliedAnswer(tool_use_id="a", content="nobody home", is_error=True)
    await waiting.resume(say("fine"), answer=failed)
    blocks = results_of(waiting.model.requests[0].messages[-1].content)
    assert ToolResultBlock("a", "nobody home", is_error=True) in blocks


async def test_the_run_waits_for_every_answer(bench: AgentBench, phone: FakeTool) -> None:
    bench.tools = [phone]
    await bench.run(call(("a", "phone"), ("b", "phone")))
    result, _ = await bench.resume(answer=answer())
    assert (result.reason, bench.model.requests) == ("suspended", [])
    assert [item.tool_use_id for item in result.deferred] == ["b"]
    result, _ = await bench.resume(say("fine"), answer=answer("no", "b"))
    assert (result.reason, len(phone.calls)) == ("completed", 2)


async def test_an_answer_made_for_another_tool_parks_the_run_again(waiting: AgentBench) -> None:
    result, _ = await waiting.resume(answer=answer(tool="ask_human_confirm"))
    assert (result.reason, waiting.model.requests) == ("suspended", [])
    assert [item.tool_use_id for item in result.deferred] == ["a"]
    assert (await waiting.kinds())[-2:] == ["Claim", "Terminal"]


@pytest.mark.parametrize(
    ("supplied", "error"),
    [
        (answer(call_id="b"), NotDeferredError),
        (answer(call_id="nothing"), NotDeferredError),
        (answer("x" * 262_145), ResultTooLargeError),
    ],
)
async def test_an_answer_that_does_not_fit_leaves_no_claim(
    waiting: AgentBench, supplied: SuppliedAnswer, error: type[Exception]
) -> None:
    before = await waiting.kinds()
    result, refused = await waiting.resume(answer=supplied)
    assert isinstance(refused, error)
    assert (result.reason, waiting.model.requests) == (None, [])
    assert await waiting.kinds() == before


async def test_a_second_answer_is_refused(bench: AgentBench, phone: FakeTool) -> None:
    bench.tools = [phone]
    await bench.run(call(("a", "phone"), ("b", "phone")))
    await bench.resume(answer=answer())
    before = await bench.kinds()
    _, error = await bench.resume(answer=answer("no"))
    assert isinstance(error, AlreadyAnsweredError)
    assert await bench.kinds() == before


async def test_an_answer_for_a_turn_that_went_on_is_refused(waiting: AgentBench) -> None:
    await waiting.resume(ProviderError("busy"), answer=answer())
    _, error = await waiting.resume(answer=answer("no"))
    assert isinstance(error, AlreadyAnsweredError)


async def test_a_completed_session_takes_no_answer(waiting: AgentBench) -> None:
    await waiting.resume(say("fine"), answer=answer())
    _, error = await waiting.resume(answer=answer())
    assert isinstance(error, RefusedError)
    assert "has already completed" in str(error)


async def test_a_prompt_may_follow_the_answer(waiting: AgentBench) -> None:
    checkpoint = Checkpoint(resume_id="bench", follow_up=True, answer=answer())
    result, _ = await waiting.run(
        say("fine"), say("and more"), checkpoint=checkpoint, prompt="more"
    )
    assert (result.text, result.follow_up_taken) == ("and more", True)


async def test_a_prompt_is_not_taken_while_a_call_waits(waiting: AgentBench) -> None:
    result, _ = await waiting.follow_up("more")
    assert (result.reason, result.follow_up_taken) == ("suspended", False)
    assert "User" not in await waiting.kinds()


@pytest.mark.parametrize("journals", [True, False])
async def test_a_deferral_of_a_tool_that_is_stopped_parks_the_run_with_nothing_more_started(
    bench: AgentBench, *, journals: bool
) -> None:
    asked = asyncio.Event()

    async def ask(raw: bytes) -> str:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise DeferredError("later") from None
        return "never"

    wipe = FakeTool(name="wipe", own_tags=("ai:destructive",))
    bench.tools = [FakeTool(name="ask", effect=ask), wipe]
    batch = call(("a", "ask"), ("b", "wipe"))
    checkpoint = Checkpoint(enabled=journals, name="bench")
    run = asyncio.ensure_future(bench.run(batch, checkpoint=checkpoint))
    await asked.wait()
    run.cancel()
    result, error = await run
    assert (result.reason, error, wipe.calls) == ("suspended", None, [])
    assert [item.tool_use_id for item in result.deferred] == ["a"]


async def test_a_call_may_wait_without_a_journal(bench: AgentBench, phone: FakeTool) -> None:
    bench.tools = [phone]
    result, error = await bench.run(call(("a", "phone")), checkpoint=None)
    assert (result.reason, error) == ("suspended", None)
    assert [item.tool_use_id for item in result.deferred] == ["a"]
