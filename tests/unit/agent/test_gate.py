from __future__ import annotations

import pytest

from fisk_ai.agent.events import Starting, ToolCallEvent, ToolResultEvent
from fisk_ai.agent.options import HeldApproval
from fisk_ai.errors import FiskError, PromptAbortedError
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.records import CallApproval, Decision, Terminal, ToolResult
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text import gojson
from fisk_ai.toolkit.contract import Advisory
from fisk_ai.toolkit.prompter import NO_OPERATOR_REASON


def gated(name: str = "remove") -> FakeTool:
    return FakeTool(name=name, own_tags=("ai:confirm",))


async def denial(bench: AgentBench) -> object:
    (record,) = (item for item in await bench.payloads() if isinstance(item, ToolResult))
    assert not record.result.is_error
    assert not record.dispatched
    return gojson.loads(record.result.content)


async def test_a_person_sees_the_whole_call_before_it_runs(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["once"])
    await bench.run(call(("a", "remove", b'{"id":"7"}')), say("done"))
    (asked,) = bench.prompter.approvals
    assert (asked.tool_use_id, asked.command, asked.tag) == ("a", "remove", "ai:confirm")
    assert asked.display == 'remove {"id":"7"}'
    assert asked.args_sha256 == args_sha256("remove", b'{"id":"7"}')
    assert len(tool.calls) == 1


async def test_with_nobody_to_ask_the_call_is_denied_in_words(bench: AgentBench) -> None:
    tool = gated()
    bench.tools = [tool]
    result, _ = await bench.run(call(("a", "remove")), say("cannot"))
    refused = await denial(bench)
    assert refused == {"allowed": False, "reason": NO_OPERATOR_REASON}
    assert (tool.calls, bench.events.of(ToolCallEvent)) == ([], [])
    assert result.stats is not None
    assert result.stats.tool_calls == 1


@pytest.mark.parametrize(
    ("prompter", "reason"),
    [
        (ScriptedPrompter(present=False), NO_OPERATOR_REASON),
        (ScriptedPrompter(["no"]), "the operator declined this call"),
        (
            ScriptedPrompter([FiskError("the line is dead")]),
            "the operator could not be asked: the line is dead",
        ),
    ],
    ids=["nobody", "no", "failure"],
)
async def test_a_denial_is_told_to_people_without_events_of_the_call(
    bench: AgentBench, prompter: ScriptedPrompter, reason: str
) -> None:
    bench.tools, bench.prompter = [gated()], prompter
    await bench.run(call(("a", "remove")), say("cannot"))
    assert bench.events.of(Advisory)[-1] == Advisory(
        kind="confirm_denied", name="remove", error=reason
    )
    assert bench.events.of(ToolCallEvent) == bench.events.of(ToolResultEvent) == []


async def test_an_allowed_call_raises_no_advisory(bench: AgentBench) -> None:
    bench.tools, bench.prompter = [gated()], ScriptedPrompter(["once"])
    await bench.run(call(("a", "remove")), say("done"))
    assert bench.events.warnings() == []


async def test_a_denial_is_asked_again_for_the_next_call(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["no", "once"])
    await bench.run(call(("a", "remove")), call(("b", "remove")), say("done"))
    assert [asked.tool_use_id for asked in bench.prompter.approvals] == ["a", "b"]
    assert len(tool.calls) == 1


async def test_a_configured_tag_gates_too(bench: AgentBench) -> None:
    tool = FakeTool(name="scale", own_tags=("impact:rw",))
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["no"])
    bench.configure(harness={"confirm_tags": ["impact:rw"]})
    await bench.run(call(("a", "scale")), say("done"))
    assert [asked.tag for asked in bench.prompter.approvals] == ["impact:rw"]
    assert tool.calls == []


async def test_always_is_recorded_behind_the_call_it_allowed(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["always"])
    await bench.run(call(("a", "remove"), ("b", "remove")), say("done"))
    assert len(tool.calls) == 2
    assert await bench.kinds() == [
        *("Meta", "Assistant", "ToolResult", "Decision", "ToolResult", "Assistant", "Terminal")
    ]
    assert Decision(tool="remove") in await bench.payloads()


async def test_a_standing_grant_outlives_the_run(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["always"])
    await bench.run(call(("a", "remove")), say("done"))
    await bench.follow_up("again", call(("b", "remove")), say("done"))
    assert len(tool.calls) == 2
    (starting,) = bench.events.of(Starting)
    assert starting.standing_approvals == ("remove",)


async def test_a_standing_grant_runs_nothing_with_nobody_present(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["always"])
    await bench.run(call(("a", "remove")), say("done"))
    bench.prompter = ScriptedPrompter(present=False)
    await bench.follow_up("again", call(("b", "remove")), say("done"))
    assert len(tool.calls) == 1


async def test_a_changed_tool_set_drops_the_grants(bench: AgentBench) -> None:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter(["always", "no"])
    await bench.run(call(("a", "remove")), say("done"))
    bench.tools = [tool, FakeTool(name="other")]
    await bench.follow_up("again", call(("b", "remove")), say("done"))
    assert bench.events.warnings() == [*("approvals_dropped", "tool_set_drift", "confirm_denied")]
    assert len(tool.calls) == 1


async def test_an_unanswered_gate_suspends_and_asks_again(bench: AgentBench) -> None:
    tool, interruption = gated(), PromptAbortedError("the window closed")
    bench.tools, bench.prompter = [tool], ScriptedPrompter([interruption, "once"])
    result, error = await bench.run(call(("a", "remove")))
    assert (result.reason, error) == ("suspended", interruption)
    terminal = (await bench.payloads())[-1]
    assert terminal == Terminal(reason="suspended", message=str(interruption))
    resumed, _ = await bench.resume(say("done"))
    assert (resumed.reason, len(tool.calls)) == ("completed", 1)
    assert not bench.prompter.approvals[1].display.startswith("(may")


async def test_a_question_that_could_not_be_asked_is_a_denial(bench: AgentBench) -> None:
    bench.tools, bench.prompter = [gated()], ScriptedPrompter([RuntimeError("no route")])
    await bench.run(call(("a", "remove")), say("done"))
    assert "no route" in str(await denial(bench))


async def test_side_effects_before_a_question_are_not_repeated(bench: AgentBench) -> None:
    first, second = FakeTool(name="count"), gated()
    bench.tools = [first, second]
    bench.prompter = ScriptedPrompter([PromptAbortedError("gone"), "once"])
    await bench.run(call(("a", "count"), ("b", "remove")))
    await bench.resume(say("done"))
    assert (len(first.calls), len(second.calls)) == (1, 1)


async def parked_at_its_gate(bench: AgentBench) -> FakeTool:
    tool = gated()
    bench.tools, bench.prompter = [tool], ScriptedPrompter([PromptAbortedError("gone")])
    await bench.run(call(("a", "remove", b'{"id":1}')))
    return tool


async def test_a_late_once_is_recorded_under_the_claim_and_counts(bench: AgentBench) -> None:
    tool = await parked_at_its_gate(bench)
    digest = args_sha256("remove", b'{"id":1}')
    bench.prompter = ScriptedPrompter()
    await bench.resume(
        say("done"), approval=HeldApproval(tool_use_id="a", choice="once", args_sha256=digest)
    )
    assert len(tool.calls) == 1
    kinds = await bench.kinds()
    assert kinds[3:6] == ["Claim", "CallApproval", "ToolResult"]
    assert CallApproval(tool_use_id="a", tool_name="remove", args_sha256=digest) in (
        await bench.payloads()
    )


async def test_a_late_always_is_only_recorded_behind_its_call(bench: AgentBench) -> None:
    tool = await parked_at_its_gate(bench)
    bench.prompter = ScriptedPrompter()
    await bench.resume(say("done"), approval=HeldApproval(tool_use_id="a", choice="always"))
    assert len(tool.calls) == 1
    assert (await bench.kinds())[3:6] == ["Claim", "ToolResult", "Decision"]


@pytest.mark.parametrize("is_forced", [False, True])
async def test_a_late_always_for_tools_that_have_changed_allows_one_call_as_shown(
    bench: AgentBench, *, is_forced: bool
) -> None:
    tool = await parked_at_its_gate(bench)
    if is_forced:
        bench.configure(system_prompt="be long")
    else:
        bench.tools = [tool, FakeTool(name="other")]
    digest = args_sha256("remove", b'{"id":1}')
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(
        call(("b", "remove", b'{"id":2}')),
        say("done"),
        approval=HeldApproval(tool_use_id="a", choice="always", args_sha256=digest),
        force=is_forced,
    )
    assert tool.calls == [b'{"id":1}']
    assert [asked.tool_use_id for asked in bench.prompter.approvals] == ["b"]
    assert "Decision" not in await bench.kinds()
    assert (await bench.kinds())[3:6] == ["Claim", "CallApproval", "ToolResult"]


@pytest.mark.parametrize("digest", ["", "0" * 64])
async def test_a_late_always_for_changed_tools_counts_only_for_what_was_shown(
    bench: AgentBench, digest: str
) -> None:
    tool = await parked_at_its_gate(bench)
    bench.tools, bench.prompter = [tool, FakeTool(name="other")], ScriptedPrompter(["no"])
    held = HeldApproval(tool_use_id="a", choice="always", args_sha256=digest)
    await bench.resume(say("done"), approval=held)
    assert tool.calls == []
    assert [asked.tool_use_id for asked in bench.prompter.approvals] == ["a"]


async def test_a_late_approval_of_other_arguments_asks_again(bench: AgentBench) -> None:
    tool = await parked_at_its_gate(bench)
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(
        say("done"), approval=HeldApproval(tool_use_id="a", choice="once", args_sha256="0" * 64)
    )
    assert (len(bench.prompter.approvals), tool.calls) == (1, [])


async def test_a_late_approval_counts_for_one_call_alone(bench: AgentBench) -> None:
    tool = await parked_at_its_gate(bench)
    bench.prompter = ScriptedPrompter(["no"])
    await bench.resume(
        call(("b", "remove", b'{"id":1}')),
        say("done"),
        approval=HeldApproval(tool_use_id="a", choice="once"),
    )
    assert len(tool.calls) == 1
    assert [asked.tool_use_id for asked in bench.prompter.approvals] == ["b"]
