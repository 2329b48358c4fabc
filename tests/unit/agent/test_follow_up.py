from __future__ import annotations

from fisk_ai.agent.options import Budget, Checkpoint
from fisk_ai.errors import PromptAbortedError, ProviderError
from fisk_ai.llm.model import Message, TextBlock, ToolResultBlock, Usage
from fisk_ai.sessions.records import User
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool


async def test_a_further_prompt_is_recorded_before_the_model_sees_it(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    result, error = await bench.follow_up("more", ProviderError("busy"))
    assert (result.reason, result.follow_up_taken) == ("error", True)
    assert error is not None
    users = [item.message for item in await bench.payloads() if isinstance(item, User)]
    assert users == [Message("user", (TextBlock("more"),))]


async def test_an_interrupted_turn_is_finished_first(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look")), ProviderError("busy"))
    result, _ = await bench.follow_up("more", say("first"), say("second"))
    assert (result.text, result.follow_up_taken, len(tool.calls)) == ("second", True, 1)
    roles = [message.role for message in bench.model.requests[1].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


async def test_a_prompt_behind_results_joins_them_in_one_message(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "look")), ProviderError("busy"))
    result, _ = await bench.follow_up("more", ProviderError("still busy"), say("hello"))
    assert (result.reason, result.follow_up_taken) == ("completed", True)
    messages = bench.model.requests[1].messages
    assert messages[-1] == Message("user", (ToolResultBlock("a", "done"), TextBlock("more")))


async def test_a_prompt_is_not_taken_when_the_old_turn_parks_again(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="remove", own_tags=("ai:confirm",))]
    bench.prompter = ScriptedPrompter([PromptAbortedError("gone"), PromptAbortedError("gone")])
    await bench.run(call(("a", "remove")))
    result, _ = await bench.follow_up("more")
    assert (result.reason, result.follow_up_taken) == ("suspended", False)
    assert "User" not in await bench.kinds()


async def test_a_truncated_old_turn_leaves_no_call_without_a_result(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"))
    cut = call(("a", "look"), stop_reason="max_tokens")
    result, _ = await bench.follow_up("more", cut, say("hello"))
    assert (result.reason, result.follow_up_taken) == ("completed", True)
    last = bench.model.requests[1].messages[-1]
    assert last.content == (
        ToolResultBlock("a", "not run: the reply was cut off", is_error=True),
        TextBlock("more"),
    )


async def test_every_turn_has_its_own_allowance(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_iterations": 2}})
    await bench.run(call(("a", "look")), say("hello"))
    result, _ = await bench.follow_up("more", call(("b", "look")), say("again"))
    assert (result.reason, result.text) == ("completed", "again")


async def test_a_resumed_later_turn_keeps_its_allowance(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_iterations": 2}})
    await bench.run(call(("a", "look")), say("hello"))
    await bench.follow_up("more", ProviderError("busy"))
    result, _ = await bench.resume(call(("b", "look")), say("again"))
    assert (result.reason, result.text) == ("completed", "again")


async def test_a_spent_budget_refuses_a_prompt_before_it_is_recorded(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello", usage=Usage(input=50, output=50)))
    before = await bench.kinds()
    bench.configure(llm={"model": "m", "budget": {"max_tokens": 100}})
    result, error = await bench.follow_up("more")
    assert (result.reason, result.follow_up_taken) == ("budget", False)
    assert "100" in str(error)
    assert [*before, "Claim", "Terminal"] == await bench.kinds()


async def test_a_lowered_budget_counts_the_whole_conversation(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look")), ProviderError("busy"))
    result, _ = await bench.run(call(("b", "look")), budget=Budget(max_tokens=4))
    assert (result.reason, len(tool.calls)) == ("budget", 1)


async def test_a_context_is_a_second_block_of_the_same_message(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"), prompt="fix it", context="the log")
    both = Message("user", (TextBlock("fix it"), TextBlock("the log")))
    assert bench.model.requests[0].messages == (both,)
    await bench.resume(say("fixed"))
    assert bench.model.requests[0].messages == (both,)


async def test_a_context_of_a_further_prompt_is_recorded_with_it(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    checkpoint = Checkpoint(resume_id="bench", follow_up=True)
    await bench.run(say("again"), prompt="more", context="the log", checkpoint=checkpoint)
    (user,) = (item for item in await bench.payloads() if isinstance(item, User))
    assert user.message.content == (TextBlock("more"), TextBlock("the log"))


async def test_a_context_lost_in_a_crash_is_written_by_the_redelivery(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"), prompt="fix it")
    await bench.run(say("fixed"), prompt="fix it", context="the log")
    (first,) = bench.model.requests[0].messages
    assert first.content == (TextBlock("fix it"), TextBlock("the log"))
    state = await bench.store.load("bench")
    assert state.messages[0] == first
