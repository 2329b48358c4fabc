from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.agent.events import Starting
from fisk_ai.agent.options import Checkpoint, HeldApproval
from fisk_ai.agent.prompt import RESUME_REMINDER
from fisk_ai.errors import (
    AlreadyAnsweredError,
    DriftError,
    ExistsError,
    LockedError,
    NotDeferredError,
    NotFoundError,
    ProviderError,
    RefusedError,
)
from fisk_ai.llm.model import Message, TextBlock, ToolResultBlock, ToolUseBlock
from fisk_ai.llm.provider import Capabilities
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Claim, Deferred, Meta, User
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


@pytest.fixture
async def parked(bench: AgentBench) -> AgentBench:
    """A session that was suspended after its first batch."""
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look")), suspend_requested=lambda: bool(tool.calls))
    return bench


async def test_a_resume_continues_the_same_conversation(parked: AgentBench) -> None:
    result, error = await parked.resume(say("done"))
    assert (result.reason, result.text, error) == ("completed", "done", None)
    (request,) = parked.model.requests
    assert request.messages == (
        Message("user", (TextBlock("go"),)),
        Message("assistant", (ToolUseBlock("a", "look"),)),
        Message("user", (ToolResultBlock("a", "done"),)),
    )
    assert request.system_blocks == ("be brief", RESUME_REMINDER)


async def test_the_claim_is_the_first_record_of_a_resume(parked: AgentBench) -> None:
    before = len(await parked.kinds())
    await parked.run(say("done"), claimed_by="turn-7", prompt="ignored")
    claim = (await parked.payloads())[before]
    assert isinstance(claim, Claim)
    assert claim.by == "turn-7"


async def test_a_claim_names_its_process_when_nobody_else_does(parked: AgentBench) -> None:
    await parked.resume(say("done"))
    (claim,) = (item for item in await parked.payloads() if isinstance(item, Claim))
    assert claim.by.startswith("tester@")
    assert " pid " in claim.by


async def test_an_unknown_session_is_not_found(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.resume()
    assert isinstance(error, NotFoundError)
    assert (result.reason, bench.events.names()) == (None, [])


async def test_a_completed_session_is_refused_by_name(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    before = await bench.kinds()
    _, error = await bench.resume()
    assert isinstance(error, RefusedError)
    assert str(error) == 'session "bench" has already completed'
    assert await bench.kinds() == before


async def test_a_redelivered_session_gives_its_stored_answer(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "look")), say("hello"))
    before = await bench.kinds()
    result, error = await bench.run()
    assert (result.reason, result.text, error) == ("completed", "hello", None)
    assert result.stats is not None
    assert (result.stats.llm_calls, result.stats.tool_calls) == (2, 1)
    assert (bench.model.requests, bench.events.names()) == ([], [])
    assert await bench.kinds() == before


async def test_an_interactive_session_is_not_resumed_by_another_kind_of_run(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"))
    bench.store = Interactive(runs)
    _, error = await bench.resume()
    assert isinstance(error, RefusedError)
    assert "interactive" in str(error)


async def test_another_provider_is_refused_even_when_forced(parked: AgentBench) -> None:
    parked.capabilities = Capabilities(provider="other", semconv_provider="other")
    _, error = await parked.resume(force=True)
    assert isinstance(error, RefusedError)
    assert not isinstance(error, DriftError)
    assert "anthropic" in str(error)
    assert "other" in str(error)


async def test_a_provider_that_a_journal_makes_up_is_repeated_cut_and_clean(
    parked: AgentBench, runs: Path
) -> None:
    path = runs / "bench.json"
    written = path.read_text(encoding="utf-8")
    made_up = written.replace('"provider":"anthropic"', f'"provider":"a\\n{"b" * 100_000}"', 1)
    path.write_text(made_up, encoding="utf-8")
    _, error = await parked.resume()
    assert made_up != written
    assert f"the provider a {'b' * 198}…, not with anthropic" in str(error)


async def test_a_changed_prompt_is_refused_with_its_differences(parked: AgentBench) -> None:
    before = await parked.kinds()
    parked.configure(system_prompt="be verbose", llm={"model": "n"})
    _, error = await parked.resume()
    assert isinstance(error, DriftError)
    assert error.lines == ("model: m -> n", "system prompt: changed")
    assert "--force" in str(error)
    assert await parked.kinds() == before


async def test_a_forced_resume_warns_once_of_what_changed(parked: AgentBench) -> None:
    parked.configure(system_prompt="be verbose")
    result, _ = await parked.resume(say("done"), force=True)
    assert result.reason == "completed"
    assert parked.events.of(Advisory) == [
        Advisory(kind="config_drift", params=("system prompt: changed",))
    ]


async def test_a_changed_budget_is_a_warning(parked: AgentBench) -> None:
    parked.configure(llm={"model": "m", "budget": {"max_tokens": 7000}})
    await parked.resume(say("done"))
    assert parked.events.of(Advisory) == [
        Advisory(kind="budget_drift", params=("max_tokens: 500000 -> 7000",))
    ]


async def test_a_paused_turn_is_resumed_with_a_warning(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("so", stop_reason="pause_turn"), ProviderError("busy"))
    result, _ = await bench.resume(say("done"))
    assert (result.text, bench.events.warnings()) == ("done", ["resume_paused_turn"])


async def test_a_recorded_answer_is_not_paid_for_twice(bench: AgentBench, runs: Path) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    forget_last_record(runs)
    result, error = await bench.resume()
    assert (result.reason, result.text, error) == ("completed", "hello", None)
    assert bench.model.requests == []


async def test_only_the_unanswered_calls_of_a_batch_run(bench: AgentBench, runs: Path) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look"), ("b", "look"), ("c", "look")), ProviderError("busy"))
    for _ in range(3):
        forget_last_record(runs)
    result, _ = await bench.resume(say("done"))
    assert (result.reason, len(tool.calls)) == ("completed", 5)
    (request,) = bench.model.requests
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    answered = [
        block for block in request.messages[2].content if isinstance(block, ToolResultBlock)
    ]
    assert [block.tool_use_id for block in answered] == ["a", "b", "c"]


async def test_a_session_that_spent_its_budget_stays_refused(bench: AgentBench) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    bench.configure(llm={"model": "m", "budget": {"max_tokens": 2}})
    await bench.run(call(("a", "look")))
    resumed, _ = await bench.resume()
    followed, _ = await bench.follow_up("more")
    assert (resumed.reason, followed.reason, followed.follow_up_taken) == (
        "budget",
        "budget",
        False,
    )
    assert (bench.model.requests, tool.calls) == ([], [])


async def test_an_open_deferral_parks_again_without_a_model_call(
    bench: AgentBench, runs: Path
) -> None:
    tool = FakeTool(name="look")
    bench.tools = [tool]
    await bench.run(call(("a", "look"), ("b", "look")), ProviderError("busy"))
    for _ in range(3):
        forget_last_record(runs)
    await add_record(bench.store, Deferred(tool_use_id="a", tool_name="look", note="phoned"))
    result, error = await bench.resume()
    assert (result.reason, error, bench.model.requests) == ("suspended", None, [])
    assert [(item.tool_use_id, item.note) for item in result.deferred] == [("a", "phoned")]
    assert (await bench.kinds())[-3:] == ["Claim", "ToolResult", "Terminal"]
    again, _ = await bench.resume()
    assert again.reason == "suspended"
    assert (await bench.kinds())[-2:] == ["Claim", "Terminal"]


async def test_a_record_written_between_load_and_open_is_seen(
    parked: AgentBench, runs: Path
) -> None:
    parked.store = Overtaken(runs)
    await parked.resume(say("done"))
    claims = [item.by for item in await parked.payloads() if isinstance(item, Claim)]
    assert claims[0] == "somebody else"
    assert len(claims) == 2


async def test_a_session_somebody_keeps_writing_to_is_left_alone(
    parked: AgentBench, runs: Path
) -> None:
    parked.store = Overtaken(runs)
    parked.store.times = 9
    result, error = await parked.resume()
    assert isinstance(error, LockedError)
    assert (result.reason, parked.model.requests) == (None, [])


async def test_a_session_held_elsewhere_is_locked(parked: AgentBench) -> None:
    holder = await parked.store.open("bench")
    result, error = await parked.resume()
    assert isinstance(error, LockedError)
    assert "taken by another process" in str(error)
    assert (result.reason, parked.events.names()) == (None, [])
    await holder.close()


async def test_a_session_created_by_another_process_meanwhile_is_locked(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(ProviderError("busy"))
    bench.store = Late(runs)
    result, error = await bench.run()
    assert isinstance(error, LockedError)
    assert (result.reason, bench.model.requests) == (None, [])


async def test_a_new_session_of_a_taken_name_is_refused(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"))
    _, error = await bench.run(checkpoint=Checkpoint(name="bench"))
    assert isinstance(error, ExistsError)


@pytest.mark.parametrize(
    ("call_id", "kind"), [("a", AlreadyAnsweredError), ("b", NotDeferredError)]
)
async def test_an_approval_of_no_open_call_is_refused_untouched(
    parked: AgentBench, call_id: str, kind: type[Exception]
) -> None:
    before = await parked.kinds()
    result, error = await parked.resume(
        say("never"), approval=HeldApproval(tool_use_id=call_id, choice="once")
    )
    assert isinstance(error, kind)
    assert (result.reason, await parked.kinds()) == (None, before)


async def test_a_cut_off_call_of_an_unknown_tool_is_answered_too(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    await bench.run(call(("a", "lok"), stop_reason="max_tokens"))
    result, _ = await bench.resume(say("done"))
    assert result.reason == "completed"


async def test_the_journal_is_let_go_at_the_end(parked: AgentBench) -> None:
    await parked.resume(say("done"))
    holder = await parked.store.open("bench")
    assert holder.last_seq() == len(await parked.payloads())
    await holder.close()


async def test_the_message_behind_a_turn_lands_in_meta_and_user(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    checkpoint = Checkpoint(
        resume_id="bench",
        create_if_missing=True,
        conversation_token="token",
        caller="ann",
        request="turn-1",
    )
    await bench.run(say("hello"), checkpoint=checkpoint)
    await bench.follow_up("more", say("again"))
    payloads = await bench.payloads()
    meta, user = payloads[0], next(item for item in payloads if isinstance(item, User))
    assert isinstance(meta, Meta)
    assert (meta.request, meta.caller, meta.conversation_token) == ("turn-1", "ann", "token")
    assert (meta.agent, user.request) == ("tester", "turn-2")


async def test_a_resumed_run_says_so(parked: AgentBench) -> None:
    await parked.resume(say("done"))
    (starting,) = parked.events.of(Starting)
    assert (starting.resumed, starting.session_id) == (True, "bench")


class Overtaken(FileStore):
    """Another worker writes right behind the first ``times`` loads."""

    times = 1

    async def load(self, run_id: str) -> RunState:
        state = await super().load(run_id)
        if self.times > 0:
            self.times -= 1
            await add_record(self, Claim(by="somebody else", claimed="2026-01-01T00:00:00Z"))
        return state


class Interactive(FileStore):
    """Tells that a person sat at every run."""

    async def load(self, run_id: str) -> RunState:
        state = await super().load(run_id)
        return replace(state, meta=replace(state.meta, interactive=True))


def forget_last_record(runs: Path) -> None:
    """Cut the journal as a process does that dies before its last append."""
    path = runs / "bench.json"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


class Late(FileStore):
    """Sees no session, because another process creates it right after the look."""

    async def load(self, run_id: str) -> RunState:
        raise NotFoundError(f"there is no session {run_id}")


async def add_record(store: Store, payload: Deferred | Claim) -> None:
    journal = await store.open("bench")
    await journal.append(journal.last_seq() + 1, payload)
    await journal.close()
