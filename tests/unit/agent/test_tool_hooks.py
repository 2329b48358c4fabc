"""What a hook may make of a tool call, and of its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from fisk_ai.agent.events import ToolCallEvent, ToolResultEvent
from fisk_ai.agent.hooks import (
    Hooks,
    PostToolUse,
    PreToolUse,
    Replacement,
    ToolVerdict,
)
from fisk_ai.agent.options import Checkpoint, HeldApproval
from fisk_ai.errors import FatalToolError, FiskError, PromptAbortedError, RefusedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.fold import in_doubt
from fisk_ai.sessions.records import Decision, Payload, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


def sending(verdict: ToolVerdict, seen: list[PreToolUse] | None = None) -> Hooks:
    async def before(event: PreToolUse) -> ToolVerdict:
        if seen is not None:
            seen.append(event)
        return verdict

    return Hooks(pre_tool_use=before)


def leaving(made: Callable[[PostToolUse], Replacement | None]) -> Hooks:
    async def after(event: PostToolUse) -> Replacement | None:
        return made(event)

    return Hooks(post_tool_use=after)


def results(payloads: Sequence[Payload | None]) -> list[ToolResult]:
    return [item for item in payloads if isinstance(item, ToolResult)]


@pytest.fixture
def look() -> FakeTool:
    return FakeTool(name="look", output="seen")


@pytest.fixture
def wipe() -> FakeTool:
    return FakeTool(name="wipe", output="wiped", own_tags=("ai:confirm",), kind="application")


async def test_a_hook_sees_the_call_as_the_model_made_it(bench: AgentBench, wipe: FakeTool) -> None:
    seen: list[PreToolUse] = []
    bench.tools = [wipe]
    await bench.run(
        call(("a", "wipe", b'{"x":1}')), say("done"), hooks=sending(ToolVerdict(), seen)
    )
    assert seen == [
        PreToolUse(
            tool_name="wipe", tool_use_id="a", input=b'{"x":1}', kind="application", gated=True
        )
    ]


@pytest.mark.parametrize(
    ("reason", "told"),
    [("not on Sundays", "not on Sundays"), ("", "the tool call was denied by a policy hook")],
)
async def test_a_denied_call_is_counted_and_never_started(
    bench: AgentBench, look: FakeTool, reason: str, told: str
) -> None:
    bench.tools = [look]
    result, _ = await bench.run(
        call(("a", "look")), say("sorry"), hooks=sending(ToolVerdict(deny=True, reason=reason))
    )
    assert results(await bench.payloads()) == [
        ToolResult(tool_use_id="a", result=ToolResultBlock("a", told, is_error=True), kind="custom")
    ]
    assert look.calls == []
    assert result.stats is not None
    assert result.stats.by_kind == {"custom": 1}
    assert bench.events.of(ToolCallEvent) == bench.events.of(ToolResultEvent) == []
    assert bench.events.of(Advisory) == [Advisory(kind="policy_denied", name="look", error=told)]


async def test_an_unknown_tool_reaches_no_hook(bench: AgentBench, look: FakeTool) -> None:
    seen: list[PreToolUse] = []
    bench.tools = [look]
    await bench.run(call(("a", "lok")), say("sorry"), hooks=sending(ToolVerdict(), seen))
    assert seen == []


async def test_a_call_sent_elsewhere_counts_runs_and_shows_as_what_it_became(
    bench: AgentBench, look: FakeTool
) -> None:
    seen: list[PreToolUse] = []
    aim = FakeTool(name="aim", output="aimed", kind="application")
    bench.tools = [look, aim]
    verdict = ToolVerdict(rewrite_tool="aim", rewrite_input=b'{ "at": "moon" }')
    result, _ = await bench.run(
        call(("a", "look", b'{"x":1}')), say("done"), hooks=sending(verdict, seen)
    )
    assert (look.calls, aim.calls, len(seen)) == ([], [b'{"at":"moon"}'], 1)
    (told,) = bench.events.of(ToolCallEvent)
    assert (told.name, told.input, told.display) == (
        "aim",
        b'{"at":"moon"}',
        'aim {"at":"moon"}',
    )
    assert result.stats is not None
    assert result.stats.by_kind == {"application": 1}
    (record,) = results(await bench.payloads())
    assert (record.tool_use_id, record.kind, record.result.content) == (
        *("a", "application"),
        "aimed",
    )


async def test_a_call_keeps_its_input_when_only_its_tool_changes(
    bench: AgentBench, look: FakeTool
) -> None:
    aim = FakeTool(name="aim")
    bench.tools = [look, aim]
    await bench.run(
        call(("a", "look", b'{"x":1}')),
        say("done"),
        hooks=sending(ToolVerdict(rewrite_tool="aim")),
    )
    assert aim.calls == [b'{"x":1}']


async def test_a_rewritten_call_is_checked_before_anybody_is_asked(
    bench: AgentBench, look: FakeTool
) -> None:
    picky = FakeTool(name="picky", required=("to",), own_tags=("ai:confirm",))
    bench.tools, bench.prompter = [look, picky], ScriptedPrompter()
    await bench.run(
        call(("a", "look")), say("sorry"), hooks=sending(ToolVerdict(rewrite_tool="picky"))
    )
    assert bench.events.warnings() == ["missing_required"]
    assert bench.prompter.approvals == picky.calls == []


async def test_a_gated_call_sent_to_a_free_tool_still_asks(
    bench: AgentBench, look: FakeTool, wipe: FakeTool
) -> None:
    bench.tools, bench.prompter = [look, wipe], ScriptedPrompter(["always"])
    await bench.run(
        call(("a", "wipe", b'{"x":1}')),
        say("done"),
        hooks=sending(ToolVerdict(rewrite_tool="look")),
    )
    (asked,) = bench.prompter.approvals
    assert (asked.tool_use_id, asked.command, asked.tag) == ("a", "look", "ai:confirm")
    assert asked.display == 'look {"x":1}'
    assert asked.args_sha256 == args_sha256("look", b'{"x":1}')
    assert (len(look.calls), wipe.calls) == (1, [])
    assert Decision(tool="look") in await bench.payloads()


async def test_a_free_call_sent_to_a_gated_tool_asks(
    bench: AgentBench, look: FakeTool, wipe: FakeTool
) -> None:
    bench.tools, bench.prompter = [look, wipe], ScriptedPrompter(["no"])
    await bench.run(
        call(("a", "look")), say("done"), hooks=sending(ToolVerdict(rewrite_tool="wipe"))
    )
    (asked,) = bench.prompter.approvals
    assert (asked.command, asked.tag) == ("wipe", "ai:confirm")
    assert look.calls == wipe.calls == []


@pytest.mark.parametrize(
    ("verdict", "named"),
    [
        (ToolVerdict(rewrite_tool="gone"), ("look", "gone")),
        (ToolVerdict(rewrite_input=b"{"), ("look",)),
        (ToolVerdict(rewrite_input=b""), ("look",)),
    ],
)
async def test_a_rewrite_that_cannot_be_made_ends_the_run_uncounted(
    bench: AgentBench, look: FakeTool, verdict: ToolVerdict, named: tuple[str, ...]
) -> None:
    bench.tools = [look]
    result, error = await bench.run(call(("a", "look")), hooks=sending(verdict))
    assert isinstance(error, RefusedError)
    assert all(f'"{name}"' in str(error) for name in named)
    assert (result.reason, look.calls) == ("error", [])
    assert result.stats is not None
    assert result.stats.tool_calls == 0
    assert results(await bench.payloads()) == []


async def test_a_hook_learns_what_a_call_returned(
    bench: AgentBench, look: FakeTool, wipe: FakeTool
) -> None:
    seen: list[PostToolUse] = []
    bench.tools, bench.prompter = [look, wipe], ScriptedPrompter(["once"])
    await bench.run(
        call(("a", "wipe")),
        call(("b", "look", b'{"x":1}')),
        say("done"),
        hooks=leaving(seen.append),
    )
    assert seen == [
        PostToolUse(
            tool_name="wipe",
            tool_use_id="a",
            input=b"{}",
            kind="application",
            gated=True,
            output="wiped",
            is_error=False,
        ),
        PostToolUse(
            tool_name="look",
            tool_use_id="b",
            input=b'{"x":1}',
            kind="custom",
            gated=False,
            output="seen",
            is_error=False,
        ),
    ]


@pytest.mark.parametrize("output", ["a summary", ""])
async def test_a_replaced_result_is_what_everybody_reads(
    bench: AgentBench, look: FakeTool, output: str
) -> None:
    bench.tools = [look]
    hooks = leaving(lambda _: Replacement(output=output, is_error=True))
    await bench.run(call(("a", "look")), say("done"), hooks=hooks)
    expected = ToolResultBlock("a", output, is_error=True)
    (record,) = results(await bench.payloads())
    (told,) = bench.events.of(ToolResultEvent)
    assert record.result == expected
    assert (told.output, told.is_error) == (output, True)
    assert bench.model.requests[1].messages[-1].content == (expected,)


async def test_a_hook_sees_the_text_of_a_timeout(bench: AgentBench) -> None:
    async def hang(raw: bytes) -> str:
        await asyncio.Event().wait()
        return ""

    seen: list[PostToolUse] = []
    bench.tools = [FakeTool(name="hang", effect=hang)]
    bench.configure(harness={"tool_timeout": "20ms"})
    await bench.run(call(("a", "hang")), say("sorry"), hooks=leaving(seen.append))
    assert "after 20ms" in seen[0].output
    assert seen[0].is_error


async def test_a_result_hook_that_fails_records_nothing_of_its_call(
    bench: AgentBench, look: FakeTool
) -> None:
    def fail(event: PostToolUse) -> Replacement:
        raise FiskError("no")

    bench.tools = [look]
    result, error = await bench.run(call(("a", "look"), ("b", "look")), hooks=leaving(fail))
    assert (result.reason, str(error)) == ("error", "post_tool_use hook: no")
    assert await bench.kinds() == ["Meta", "Assistant"]
    assert bench.events.names()[-1] == "tool_call"
    again, _ = await bench.resume(say("done"))
    assert (again.reason, len(look.calls)) == ("completed", 3)


async def test_a_harmful_call_whose_result_was_lost_to_a_hook_is_asked_about(
    bench: AgentBench,
) -> None:
    def fail(event: PostToolUse) -> Replacement:
        raise FiskError("no")

    drop = FakeTool(name="drop", own_tags=("ai:destructive",))
    bench.tools = [drop]
    await bench.run(call(("a", "drop")), hooks=leaving(fail))
    assert in_doubt(await bench.store.records("bench")) == "a"
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(say("done"))
    (asked,) = bench.prompter.approvals
    assert asked.in_doubt
    assert len(drop.calls) == 1


async def test_grants_of_a_call_whose_result_was_lost_are_lost_too(
    bench: AgentBench, wipe: FakeTool
) -> None:
    def fail(event: PostToolUse) -> Replacement:
        raise FiskError("no")

    bench.tools, bench.prompter = [wipe], ScriptedPrompter(["always"])
    await bench.run(call(("a", "wipe")), hooks=leaving(fail))
    assert Decision(tool="wipe") not in await bench.payloads()


async def test_both_tools_of_a_call_in_doubt_have_their_say(bench: AgentBench) -> None:
    async def die(raw: bytes) -> str:
        raise FatalToolError("killed")

    drop = FakeTool(name="drop", own_tags=("ai:destructive",))
    look = FakeTool(name="look", own_tags=("ai:idempotent",), effect=die)
    bench.tools, hooks = [drop, look], sending(ToolVerdict(rewrite_tool="look"))
    await bench.run(call(("a", "drop")), hooks=hooks)
    bench.prompter = ScriptedPrompter(["no"])
    result, _ = await bench.run(say("done"), hooks=hooks)
    assert result.reason == "completed"
    assert [asked.in_doubt for asked in bench.prompter.approvals] == [True]


async def test_a_fatal_failure_of_a_tool_ends_the_run(bench: AgentBench) -> None:
    async def fail(raw: bytes) -> str:
        raise FatalToolError("the vault is open")

    bench.tools = [FakeTool(name="open", effect=fail)]
    result, error = await bench.run(call(("a", "open")))
    assert (result.reason, str(error)) == ("error", "the vault is open")
    assert await bench.kinds() == ["Meta", "Assistant"]
    assert len(bench.model.requests) == 1


async def test_a_call_approved_late_and_denied_by_then_never_runs(
    bench: AgentBench, wipe: FakeTool
) -> None:
    bench.tools, bench.prompter = [wipe], ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "wipe")))
    checkpoint = Checkpoint(
        resume_id="bench", approval=HeldApproval(tool_use_id="a", choice="once")
    )
    hooks = sending(ToolVerdict(deny=True, reason="the rules changed"))
    await bench.run(say("sorry"), checkpoint=checkpoint, prompt="", hooks=hooks)
    assert wipe.calls == []
    (record,) = results(await bench.payloads())
    assert (record.result.content, record.dispatched) == ("the rules changed", False)


async def test_a_call_approved_late_of_a_tool_that_is_gone_never_runs(
    bench: AgentBench, wipe: FakeTool
) -> None:
    bench.tools = [wipe, FakeTool(name="look")]
    bench.prompter = ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "wipe")))
    bench.configure(exclude={"tools": ["^wipe$"]})
    await bench.resume(say("sorry"), approval=HeldApproval(tool_use_id="a", choice="always"))
    assert wipe.calls == []
    (record,) = results(await bench.payloads())
    assert record.kind == "unknown"


async def test_a_late_approval_does_not_fit_a_call_that_a_hook_changed(
    bench: AgentBench, wipe: FakeTool
) -> None:
    bench.tools, bench.prompter = [wipe], ScriptedPrompter([PromptAbortedError("gone"), "no"])
    await bench.run(call(("a", "wipe", b'{"x":1}')))
    approval = HeldApproval(
        tool_use_id="a", choice="once", args_sha256=args_sha256("wipe", b'{"x":1}')
    )
    checkpoint = Checkpoint(resume_id="bench", approval=approval)
    hooks = sending(ToolVerdict(rewrite_input=b'{"x":2}'))
    await bench.run(say("sorry"), checkpoint=checkpoint, prompt="", hooks=hooks)
    assert (len(bench.prompter.approvals), wipe.calls) == (2, [])
