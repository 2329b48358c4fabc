from __future__ import annotations

import pytest

from fisk_ai.agent.events import LlmRequestEvent
from fisk_ai.agent.options import Budget, Checkpoint, Stats
from fisk_ai.errors import ProviderError
from fisk_ai.llm.model import Message, Response, TextBlock, ToolResultBlock, Usage
from fisk_ai.sessions.records import Assistant, Terminal, ToolResult
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool


async def test_an_answer_completes_the_run_and_is_its_text(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("hello"))
    assert (result.reason, result.text, error) == ("completed", "hello", None)
    assert await bench.kinds() == ["Meta", "Assistant", "Terminal"]


async def test_results_go_back_as_one_user_message_in_call_order(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="one", output="1"), FakeTool(name="two", output="2")]
    await bench.run(call(("a", "two"), ("b", "one")), say("done"))
    roles = [message.role for message in bench.model.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert bench.model.requests[1].messages[2].content == (
        ToolResultBlock("a", "2"),
        ToolResultBlock("b", "1"),
    )


async def test_a_reply_is_recorded_before_its_tools_run(bench: AgentBench) -> None:
    seen: list[list[str]] = []

    async def look(raw: bytes) -> str:
        seen.append(await bench.kinds())
        return "seen"

    bench.tools = [FakeTool(name="look", effect=look)]
    await bench.run(call(("a", "look"), ("b", "look")), say("done"))
    assert seen == [["Meta", "Assistant"], ["Meta", "Assistant", "ToolResult"]]


async def test_a_run_without_a_journal_writes_nothing(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("hello"), checkpoint=None)
    assert (result.reason, result.session_id, error) == ("completed", "", None)
    assert await bench.store.list(Filter()) == []


async def test_a_suspend_parks_before_the_index_is_used(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    result, error = await bench.run(call(("a", "look")), suspend_requested=lambda: bool(tool.calls))
    assert (result.reason, error) == ("suspended", None)
    resumed, _ = await bench.resume(say("done"))
    assert resumed.reason == "completed"
    replies = [item for item in await bench.payloads() if isinstance(item, Assistant)]
    assert [item.iteration for item in replies] == [0, 1]


async def test_a_suspend_request_is_ignored_without_a_journal(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, _ = await bench.run(say("hello"), checkpoint=None, suspend_requested=lambda: True)
    assert result.reason == "completed"


async def test_tools_of_a_truncated_reply_never_run(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    result, error = await bench.run(call(("a", "look"), stop_reason="max_tokens"))
    assert result.reason == "error"
    assert "truncated at the output token limit" in str(error)
    assert "raise llm.budget.max_output_tokens" in str(error)
    assert tool.calls == []
    assert [event.terminal for event in bench.events.recorded if event.name == "message"] == [True]


async def test_a_truncated_reply_is_answered_with_errors_on_resume(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look"), ("b", "look"), stop_reason="max_tokens"))
    result, _ = await bench.resume(say("done"))
    assert (result.reason, tool.calls) == ("completed", [])
    texts = [item.result for item in await bench.payloads() if isinstance(item, ToolResult)]
    assert [(item.content, item.is_error) for item in texts] == [
        ("not run: the reply was cut off", True)
    ] * 2


async def test_a_paused_turn_asks_again_with_the_conversation_as_it_is(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, _ = await bench.run(say("thinking", stop_reason="pause_turn"), say("done"))
    assert result.text == "done"
    assert [message.role for message in bench.model.requests[1].messages] == ["user", "assistant"]


async def test_a_refusal_without_calls_is_an_error(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(say("no", stop_reason="refusal"))
    assert (result.reason, str(error)) == ("error", "model refused to respond")


async def test_a_refusal_with_calls_runs_them_and_the_next_reply_has_the_last_word(
    bench: AgentBench,
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    result, error = await bench.run(call(("a", "look"), stop_reason="refusal"), say("done"))
    assert (len(tool.calls), result.reason, result.text, error) == (1, "completed", "done", None)


async def test_an_unknown_stop_reason_with_calls_runs_them(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look"), stop_reason="something_new"), say("done"))
    assert len(tool.calls) == 1


async def test_a_failed_model_call_records_nothing_and_keeps_its_kind(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(ProviderError("too busy", failure="overloaded"))
    assert result.reason == "error"
    assert isinstance(error, ProviderError)
    assert (str(error), error.failure) == ("llm call: too busy", "overloaded")
    assert await bench.kinds() == ["Meta", "Terminal"]
    assert result.stats == Stats()


async def test_failed_attempts_reach_the_provider_until_it_answers(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"))
    await bench.resume(ProviderError("busy"))
    await bench.resume(call(("a", "look")), say("done"))
    assert [request.failed_attempts for request in bench.model.requests] == [2, 0]


async def test_results_outlive_a_model_call_that_fails_after_them(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look")), ProviderError("busy"))
    result, _ = await bench.resume(say("done"))
    assert (result.reason, len(tool.calls)) == ("completed", 1)


async def test_the_budget_stops_before_a_batch(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.configure(llm={"model": "m", "budget": {"max_tokens": 10}})
    result, error = await bench.run(call(("a", "look"), usage=Usage(3, 3, 2, 2, 1)))
    assert result.reason == "budget"
    assert str(error) == (
        "the conversation has used 10 tokens of the 10 that llm.budget.max_tokens allows, "
        "and has to wait until that is raised"
    )
    assert tool.calls == []


async def test_the_budget_never_withholds_an_answer(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_tokens": 10}})
    result, error = await bench.run(
        Response((TextBlock("dear"),), "end_turn", Usage(input=900, output=900))
    )
    assert (result.reason, result.text, error) == ("completed", "dear", None)


async def test_a_caller_can_lower_the_budget_and_never_raise_it(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_iterations": 2}})
    rounds = [call((f"c{n}", "look")) for n in range(4)]
    lowered, _ = await bench.run(*rounds, budget=Budget(max_iterations=1))
    assert (lowered.reason, len(bench.model.requests)) == ("max_iterations", 1)
    bench.session_id = "raised"
    await bench.run(*rounds, budget=Budget(max_iterations=9))
    assert len(bench.model.requests) == 2


async def test_the_cap_ends_a_turn_with_its_number(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_iterations": 1}})
    result, error = await bench.run(call(("a", "look")))
    assert result.reason == "max_iterations"
    assert str(error) == (
        "max iterations (1) reached without a final answer; "
        "raise llm.budget.max_iterations, then resume"
    )
    last = (await bench.payloads())[-1]
    assert last == Terminal(reason="max_iterations", message=str(error))


async def test_the_text_is_of_the_last_reply_that_had_any(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_iterations": 2}})
    first = Response((TextBlock("so "), TextBlock("far"), *call(("a", "look")).content), "tool_use")
    result, _ = await bench.run(first, call(("b", "look")))
    assert result.text == "so far"


async def test_the_request_carries_what_is_configured(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "thinking": {"enabled": True}, "no_prompt_cache": True})
    await bench.run(say("hello"), human_paced=True)
    request = bench.model.requests[0]
    assert (request.model, request.system_blocks) == ("m", ("be brief",))
    assert (request.thinking, request.max_output_tokens) == (True, 16384)
    assert (request.prompt_cache, request.interactive) == (False, True)
    assert [tool.name for tool in request.tools] == ["look"]


async def test_an_empty_prompt_becomes_the_default(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"), prompt="")
    assert bench.model.requests[0].messages == (Message("user", (TextBlock("assist the user"),)),)


async def test_verbose_runs_say_what_is_asked(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "look"), ("b", "look")), say("done"), verbose=True, prompt="a\nb")
    first, second = bench.events.of(LlmRequestEvent)
    assert (first.preview, first.messages) == ('"a b"', 1)
    assert (second.preview, second.messages) == ("2 tool results", 3)
    assert second.size_bytes > first.size_bytes


async def test_fragments_reach_a_sink_that_wants_them(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.events.deltas = True
    await bench.run(say("hello"))
    assert bench.events.names() == ["starting", "delta", "message"]


async def test_a_crash_says_nothing_of_its_cause_but_to_the_sink(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    bug = ZeroDivisionError("the secret")
    result, error = await bench.run(bug)
    assert (result.reason, result.crashed, result.session_id) == (None, True, "bench")
    assert "secret" not in str(error)
    assert bench.events.of(ZeroDivisionError) == [bug]
    assert await bench.kinds() == ["Meta"]


async def test_counters_of_a_session_go_on_where_it_stood(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "look")), ProviderError("busy"))
    result, _ = await bench.resume(call(("b", "look")), say("done"))
    assert result.stats == Stats(
        llm_calls=3, tool_calls=2, by_kind={"custom": 1}, usage=Usage(input=3, output=3)
    )


async def test_a_name_is_the_id_of_a_new_session(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, _ = await bench.run(say("hi"), checkpoint=Checkpoint(name="mine"))
    assert result.session_id == "mine"


@pytest.mark.parametrize("absurd", [-1000, 2**60])
async def test_counts_that_cannot_be_neither_lower_a_bound_nor_spoil_a_session(
    bench: AgentBench, absurd: int
) -> None:
    bench.tools = [FakeTool(name="look")]
    bench.configure(llm={"model": "m", "budget": {"max_tokens": 5}})
    absurdity = Usage(input=absurd, output=2, cache_read=absurd, cache_create=absurd)
    replies = [call((f"c{index}", "look"), usage=absurdity) for index in range(9)]
    result, _ = await bench.run(*replies)
    assert (result.reason, result.stats) == (
        "budget",
        Stats(llm_calls=3, tool_calls=2, by_kind={"custom": 2}, usage=Usage(output=6)),
    )
    replies_kept = [item for item in await bench.payloads() if isinstance(item, Assistant)]
    assert [(item.in_tokens, item.out_tokens) for item in replies_kept] == [(0, 2)] * 3
