from __future__ import annotations

import asyncio

import pytest

from fisk_ai.agent.options import HeldApproval
from fisk_ai.errors import FatalToolError, PromptAbortedError
from fisk_ai.sessions import supply
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.records import CallApproval, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory

UNKNOWN = "outcome unknown: the worker stopped while this ran; check before repeating"
HARMFUL = [("ai:confirm",), ("ai:destructive",), ("ai:confirm", "ai:destructive")]


class Killed(FatalToolError):
    """Ends a run as a kill does: nothing of it is written afterwards."""


def interrupted(*tags: str) -> FakeTool:
    """A tool during whose first call the process dies."""

    async def die_once(raw: bytes) -> str:
        if len(tool.calls) == 1:
            raise Killed("killed")
        return "done"

    tool = FakeTool(name="remove", own_tags=tags, effect=die_once)
    return tool


async def kill(bench: AgentBench, tool: FakeTool, *answers: str) -> None:
    bench.tools = [tool]
    bench.prompter = ScriptedPrompter(answers)
    _, error = await bench.run(call(("a", "remove")))
    assert isinstance(error, Killed)


async def recorded(bench: AgentBench) -> list[ToolResult]:
    return [item for item in await bench.payloads() if isinstance(item, ToolResult)]


@pytest.mark.parametrize("tags", HARMFUL)
async def test_a_harmful_call_in_doubt_is_asked_about(
    bench: AgentBench, tags: tuple[str, ...]
) -> None:
    tool = interrupted(*tags)
    await kill(bench, tool, "once")
    bench.prompter = ScriptedPrompter(["once"])
    await bench.resume(say("done"))
    (asked,) = bench.prompter.approvals
    assert asked.display == "(may already have run) remove {}"
    assert asked.in_doubt
    assert asked.tag == ("ai:confirm" if "ai:confirm" in tags else "")
    assert len(tool.calls) == 2


async def test_a_standing_grant_does_not_repeat_a_call_in_doubt(bench: AgentBench) -> None:
    tool = FakeTool(name="remove", own_tags=("ai:confirm",))
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["always"])
    await bench.run(call(("z", "remove")), say("done"))

    async def die(raw: bytes) -> str:
        raise Killed("killed")

    tool.effect = die
    _, error = await bench.follow_up("again", call(("a", "remove")))
    assert isinstance(error, Killed)
    tool.effect = None
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(say("done"))
    assert len(bench.prompter.approvals) == 1
    assert len(tool.calls) == 2


@pytest.mark.parametrize("tags", HARMFUL)
async def test_with_nobody_to_ask_a_call_in_doubt_gets_the_fixed_error(
    bench: AgentBench, tags: tuple[str, ...]
) -> None:
    tool = interrupted(*tags)
    await kill(bench, tool, "once")
    bench.prompter = ScriptedPrompter(present=False)
    result, _ = await bench.resume(say("done"))
    (record,) = await recorded(bench)
    assert (record.result.content, record.result.is_error) == (UNKNOWN, True)
    assert (record.dispatched, len(tool.calls), result.reason) == (False, 1, "completed")
    told = [item for item in bench.events.of(Advisory) if item.kind != "confirm_no_terminal"]
    assert told == [Advisory(kind="call_in_doubt", name="remove", error=UNKNOWN)]


async def test_a_denied_call_in_doubt_gets_the_same_error(bench: AgentBench) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(say("done"))
    (record,) = await recorded(bench)
    assert (record.result.content, record.result.is_error, len(tool.calls)) == (UNKNOWN, True, 1)
    assert bench.events.warnings() == ["call_in_doubt"]


@pytest.mark.parametrize("tags", [(), ("ai:destructive", "ai:idempotent"), ("ai:idempotent",)])
async def test_a_plain_or_idempotent_call_is_repeated(
    bench: AgentBench, tags: tuple[str, ...]
) -> None:
    tool = interrupted(*tags)
    await kill(bench, tool)
    bench.prompter = ScriptedPrompter(present=False)
    await bench.resume(say("done"))
    assert len(tool.calls) == 2


async def test_an_idempotent_gated_call_in_doubt_asks_like_any_other(bench: AgentBench) -> None:
    tool = interrupted("ai:confirm", "ai:idempotent")
    await kill(bench, tool, "once")
    bench.prompter = ScriptedPrompter(["once"])
    await bench.resume(say("done"))
    assert [asked.display for asked in bench.prompter.approvals] == ["remove {}"]


async def test_a_doubt_lasts_until_its_question_is_answered(bench: AgentBench) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    bench.prompter = ScriptedPrompter([PromptAbortedError("gone"), "once"])
    parked, _ = await bench.resume()
    await bench.resume(say("done"))
    assert parked.reason == "suspended"
    assert [asked.display[:5] for asked in bench.prompter.approvals] == ["(may "] * 2
    assert len(tool.calls) == 2


async def test_an_approval_given_since_the_doubt_counts(bench: AgentBench) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    bench.prompter = ScriptedPrompter([PromptAbortedError("gone")])
    await bench.resume()
    await bench.resume(say("done"), approval=HeldApproval(tool_use_id="a", choice="once"))
    assert (len(bench.prompter.approvals), len(tool.calls)) == (1, 2)


def allowing(arguments: bytes = b"{}") -> CallApproval:
    return CallApproval(
        tool_use_id="a", tool_name="remove", args_sha256=args_sha256("remove", arguments)
    )


@pytest.mark.parametrize("parked", [False, True])
async def test_an_approval_from_outside_since_the_doubt_counts(
    bench: AgentBench, *, parked: bool
) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    if parked:
        bench.prompter = ScriptedPrompter([PromptAbortedError("gone")])
        await bench.resume()
    await supply.approve(bench.store, "bench", allowing())
    bench.prompter = ScriptedPrompter()
    result, _ = await bench.resume(say("done"))
    assert (result.reason, bench.prompter.approvals, len(tool.calls)) == ("completed", [], 2)


async def test_an_approval_since_the_doubt_runs_nothing_with_nobody_present(
    bench: AgentBench,
) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    await supply.approve(bench.store, "bench", allowing())
    bench.prompter = ScriptedPrompter(present=False)
    await bench.resume(say("done"))
    (record,) = await recorded(bench)
    assert (record.result.content, len(tool.calls)) == (UNKNOWN, 1)


async def test_an_approval_of_other_arguments_leaves_the_doubt(bench: AgentBench) -> None:
    tool = interrupted("ai:destructive")
    await kill(bench, tool)
    await supply.approve(bench.store, "bench", allowing(b'{"x":1}'))
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(say("done"))
    assert [asked.in_doubt for asked in bench.prompter.approvals] == [True]
    assert "approval_spent" not in bench.events.warnings()
    assert len(tool.calls) == 1


async def test_an_approval_counts_for_one_attempt_alone(bench: AgentBench) -> None:
    async def die(raw: bytes) -> str:
        raise Killed("killed")

    tool = FakeTool(name="remove", own_tags=("ai:destructive",), effect=die)
    await kill(bench, tool)
    await supply.approve(bench.store, "bench", allowing())
    bench.prompter = ScriptedPrompter(["no"])
    _, error = await bench.resume()
    assert (isinstance(error, Killed), len(tool.calls)) == (True, 2)
    await bench.resume(say("done"))
    assert [asked.in_doubt for asked in bench.prompter.approvals] == [True]
    assert len(tool.calls) == 2


@pytest.mark.parametrize("present", [True, False], ids=["at a terminal", "with nobody to ask"])
async def test_whoever_approved_a_call_is_told_that_a_dead_run_spent_it(
    bench: AgentBench, *, present: bool
) -> None:
    tool = interrupted("ai:confirm")
    bench.tools, bench.prompter = [tool], ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "remove")))
    await supply.approve(bench.store, "bench", allowing())
    bench.prompter = ScriptedPrompter()
    _, error = await bench.resume()
    assert (isinstance(error, Killed), bench.events.warnings()) == (True, [])
    bench.prompter = ScriptedPrompter(["once"], present=present)
    await bench.resume(say("done"))
    spent = [item.name for item in bench.events.of(Advisory) if item.kind == "approval_spent"]
    assert (spent, len(bench.prompter.approvals)) == (["remove"], int(present))


async def test_an_approval_that_a_dead_run_brought_along_is_not_given_since(
    bench: AgentBench,
) -> None:
    tool = interrupted("ai:confirm")
    bench.tools, bench.prompter = [tool], ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "remove")))
    bench.prompter = ScriptedPrompter(["no"])
    held = HeldApproval(tool_use_id="a", choice="once", args_sha256=allowing().args_sha256)
    _, error = await bench.resume(approval=held)
    assert isinstance(error, Killed)
    assert (await bench.kinds())[-2:] == ["Claim", "CallApproval"]
    await bench.resume(say("done"))
    assert [asked.in_doubt for asked in bench.prompter.approvals] == [True]
    assert len(tool.calls) == 1


async def test_an_approval_beside_the_one_a_dead_run_brought_counts(bench: AgentBench) -> None:
    tool = interrupted("ai:confirm")
    bench.tools, bench.prompter = [tool], ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "remove")))
    bench.prompter = ScriptedPrompter()
    await bench.resume(approval=HeldApproval(tool_use_id="a", choice="once"))
    await supply.approve(bench.store, "bench", allowing())
    result, _ = await bench.resume(say("done"))
    assert (result.reason, len(tool.calls)) == ("completed", 2)


async def test_a_call_killed_again_after_once_is_asked_about_again(bench: AgentBench) -> None:
    async def die(raw: bytes) -> str:
        raise Killed("killed")

    tool = FakeTool(name="remove", own_tags=("ai:destructive",), effect=die)
    await kill(bench, tool)
    for _ in range(2):
        _, error = await bench.resume(approval=HeldApproval(tool_use_id="a", choice="once"))
        assert isinstance(error, Killed)
    tool.effect = None
    bench.prompter = ScriptedPrompter(["once"])
    await bench.resume(say("done"))
    assert (len(bench.prompter.approvals), len(tool.calls)) == (1, 4)


async def test_a_clean_suspend_leaves_no_doubt(bench: AgentBench) -> None:
    tool = FakeTool(name="remove", own_tags=("ai:confirm",))
    bench.tools, bench.prompter = [tool], ScriptedPrompter([PromptAbortedError("gone"), "once"])
    await bench.run(call(("a", "remove")))
    await bench.resume(say("done"))
    assert bench.prompter.approvals[1].display == "remove {}"


async def test_only_the_first_open_call_is_in_doubt(bench: AgentBench) -> None:
    tool = interrupted("ai:destructive")
    bench.tools = [FakeTool(name="look"), tool, FakeTool(name="wipe", own_tags=("ai:destructive",))]
    _, error = await bench.run(call(("a", "look"), ("b", "remove"), ("c", "wipe")))
    assert isinstance(error, Killed)
    result, _ = await bench.resume(say("done"))
    assert result.reason == "completed"
    assert [record.result.content for record in await recorded(bench)] == ["done", UNKNOWN, "done"]


async def test_a_run_cancelled_inside_a_tool_leaves_the_call_in_doubt(bench: AgentBench) -> None:
    started = asyncio.Event()

    async def hang(raw: bytes) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    bench.tools = [FakeTool(name="remove", own_tags=("ai:destructive",), effect=hang)]
    task = asyncio.ensure_future(bench.run(call(("a", "remove"))))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await bench.kinds() == ["Meta", "Assistant"]
    await bench.resume(say("done"))
    (record,) = await recorded(bench)
    assert record.result.content == UNKNOWN
