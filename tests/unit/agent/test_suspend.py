"""Being told to park in the middle of a batch: nothing more starts, and nothing is lost."""

from __future__ import annotations

from fisk_ai.agent.options import Checkpoint
from fisk_ai.sessions.fold import in_doubt
from fisk_ai.sessions.records import Assistant, Terminal, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool

BATCH = call(("a", "look"), ("b", "look"), ("c", "wipe"))


class Stop:
    """A request to park, made by the tool or the person of a test."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


def looking(stop: Stop, *, at: int) -> FakeTool:
    """A tool that is told to stop during its ``at``-th call, and ends it in order."""

    async def look(raw: bytes) -> str:
        stop.asked = stop.asked or len(tool.calls) == at
        return f"seen {len(tool.calls)}"

    tool = FakeTool(name="look", effect=look)
    return tool


async def results(bench: AgentBench) -> dict[str, str]:
    found = [item for item in await bench.payloads() if isinstance(item, ToolResult)]
    assert len({item.tool_use_id for item in found}) == len(found)
    return {item.tool_use_id: item.result.content for item in found}


async def test_a_request_to_park_lets_no_further_call_of_the_batch_start(
    bench: AgentBench,
) -> None:
    stop = Stop()
    wipe = FakeTool(name="wipe", own_tags=("ai:destructive",))
    bench.tools = [looking(stop, at=1), wipe]
    result, error = await bench.run(BATCH, suspend_requested=stop)
    assert (result.reason, error) == ("suspended", None)
    assert await results(bench) == {"a": "seen 1"}
    assert wipe.calls == []
    assert (await bench.payloads())[-1] == Terminal(reason="suspended")
    assert in_doubt(await bench.store.records(bench.session_id)) is None


async def test_a_call_with_a_standing_grant_does_not_start_either(bench: AgentBench) -> None:
    stop = Stop()
    wipe = FakeTool(name="wipe", own_tags=("ai:confirm",))
    bench.tools, bench.prompter = [wipe], ScriptedPrompter(["always"])
    await bench.run(call(("z", "wipe")), say("done"))
    bench.tools = [looking(stop, at=2), wipe]
    checkpoint = Checkpoint(resume_id=bench.session_id, follow_up=True, force=True)
    result, _ = await bench.run(BATCH, checkpoint=checkpoint, suspend_requested=stop)
    assert result.reason == "suspended"
    assert len(wipe.calls) == 1


async def test_a_resume_finishes_exactly_the_calls_that_were_left(bench: AgentBench) -> None:
    stop = Stop()
    look, wipe = looking(stop, at=1), FakeTool(name="wipe", own_tags=("ai:destructive",))
    bench.tools = [look, wipe]
    await bench.run(BATCH, suspend_requested=stop)
    result, _ = await bench.resume(say("done"))
    assert result.reason == "completed"
    assert bench.prompter.approvals == []
    assert (len(look.calls), len(wipe.calls)) == (2, 1)
    assert await results(bench) == {"a": "seen 1", "b": "seen 2", "c": "done"}
    assert result.stats is not None
    assert result.stats.tool_calls == 3
    replies = [item for item in await bench.payloads() if isinstance(item, Assistant)]
    assert [item.iteration for item in replies] == [0, 1]


async def test_a_resumed_batch_is_parked_again_between_its_calls(bench: AgentBench) -> None:
    stop, again = Stop(), Stop()
    look, wipe = looking(stop, at=1), FakeTool(name="wipe")
    bench.tools = [look, wipe]
    await bench.run(BATCH, suspend_requested=stop)
    bench.tools = [later := looking(again, at=1), wipe]
    checkpoint = Checkpoint(resume_id=bench.session_id)
    result, _ = await bench.run(checkpoint=checkpoint, suspend_requested=again)
    assert (result.reason, bench.model.requests) == ("suspended", [])
    assert (len(later.calls), wipe.calls) == (1, [])
    assert in_doubt(await bench.store.records(bench.session_id)) is None
    result, _ = await bench.resume(say("done"))
    assert (result.reason, len(wipe.calls)) == ("completed", 1)


async def test_a_request_that_comes_before_a_batch_starts_none_of_it(bench: AgentBench) -> None:
    look, wipe = FakeTool(name="look"), FakeTool(name="wipe")
    bench.tools = [look, wipe]
    result, _ = await bench.run(BATCH, suspend_requested=lambda: bool(bench.model.requests))
    assert result.reason == "suspended"
    assert (look.calls, wipe.calls, await results(bench)) == ([], [], {})


async def test_a_yes_that_comes_after_the_request_to_park_starts_nothing(
    bench: AgentBench,
) -> None:
    wipe = FakeTool(name="wipe", own_tags=("ai:confirm",))
    bench.tools, bench.prompter = [wipe], ScriptedPrompter(["always", "no"])
    result, _ = await bench.run(
        call(("c", "wipe")), suspend_requested=lambda: bool(bench.prompter.approvals)
    )
    assert (result.reason, wipe.calls) == ("suspended", [])
    assert "Decision" not in await bench.kinds()
    await bench.resume(say("done"))
    assert (len(bench.prompter.approvals), wipe.calls) == (2, [])


async def test_without_a_journal_a_batch_is_finished(bench: AgentBench) -> None:
    look, wipe = FakeTool(name="look"), FakeTool(name="wipe")
    bench.tools = [look, wipe]
    result, _ = await bench.run(BATCH, say("done"), checkpoint=None, suspend_requested=lambda: True)
    assert (result.reason, len(look.calls), len(wipe.calls)) == ("completed", 2, 1)
