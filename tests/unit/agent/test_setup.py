from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.agent.events import Starting
from fisk_ai.agent.options import Checkpoint, HeldApproval, SuppliedAnswer
from fisk_ai.errors import ConfigError, SetupError, UsageError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.store import Filter, StoreInfo
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory

ANSWER = SuppliedAnswer(tool_use_id="a", content="yes")


@pytest.mark.parametrize(
    ("checkpoint", "prompt", "key"),
    [
        (Checkpoint(follow_up=True), "more", "follow_up"),
        (Checkpoint(follow_up=True, resume_id="s", create_if_missing=True), "more", "follow_up"),
        (Checkpoint(follow_up=True, resume_id="s"), " \n", "follow_up"),
        (Checkpoint(answer=ANSWER), "", "answer"),
        (Checkpoint(resume_id="s", create_if_missing=True, answer=ANSWER), "", "answer"),
        (
            Checkpoint(resume_id="s", answer=SuppliedAnswer(tool_use_id="", content="x")),
            "",
            "answer",
        ),
        (Checkpoint(follow_up=True, answer=ANSWER), "", "follow_up"),
        (
            Checkpoint(resume_id="s", answer=ANSWER, conversation_token="t"),
            "",
            "conversation_token",
        ),
        (Checkpoint(approval=HeldApproval(tool_use_id="a", choice="once")), "", "approval"),
        (
            Checkpoint(resume_id="s", approval=HeldApproval(tool_use_id="", choice="once")),
            "",
            "approval",
        ),
        (
            Checkpoint(resume_id="s", follow_up=True, conversation_token="t"),
            "more",
            "conversation_token",
        ),
        (
            Checkpoint(resume_id="s", enabled=False, conversation_token="t"),
            "",
            "conversation_token",
        ),
    ],
)
async def test_contradicting_options_are_refused_before_anything_else(
    bench: AgentBench, checkpoint: Checkpoint, prompt: str, key: str
) -> None:
    result, error = await bench.run(checkpoint=checkpoint, prompt=prompt)
    assert isinstance(error, UsageError)
    assert error.key == key
    assert (result.reason, result.stats, bench.events.names()) == (None, None, [])


@pytest.mark.parametrize("directory", [Path("relative"), Path("/nowhere/at/all")])
async def test_directories_must_be_there(bench: AgentBench, directory: Path) -> None:
    bench.tools = [FakeTool(name="look")]
    _, work = await bench.run(tool_work_dir=directory)
    _, store = await bench.run(store_dir=directory)
    assert isinstance(work, UsageError)
    assert isinstance(store, UsageError)
    assert (work.key, store.key) == ("tool_work_dir", "store_dir")


class Elsewhere(FileStore):
    """A store that says it is another."""

    def info(self) -> StoreInfo:
        return StoreInfo("redis")


async def test_another_session_store_than_the_file_declares_is_refused(
    bench: AgentBench, runs: Path
) -> None:
    bench.tools, bench.store = [FakeTool(name="look")], Elsewhere(runs)
    bench.configure(harness={"sessions": {"backend": "file"}})
    _, error = await bench.run()
    assert isinstance(error, SetupError)
    assert error.key == "harness.sessions.backend"
    for word in ("session_store", '"redis"', '"file"', "agent.yaml"):
        assert word in str(error)
    unrecorded, _ = await bench.run(say("hello"), checkpoint=None)
    assert unrecorded.reason == "completed"


async def test_a_default_declares_no_session_store(bench: AgentBench, runs: Path) -> None:
    bench.tools, bench.store = [FakeTool(name="look")], Elsewhere(runs)
    result, _ = await bench.run(say("hello"))
    assert result.reason == "completed"


async def test_questions_are_offered_where_the_file_asks_for_them(bench: AgentBench) -> None:
    bench.configure(harness={"human_in_the_loop": {"enabled": True}})
    bench.prompter = ScriptedPrompter([True])
    question = call(("a", "ask_human_confirm", b'{"question":"Go on?"}'))
    result, _ = await bench.run(question, say("done"))
    assert bench.prompter.questions == ["Go on?"]
    assert result.stats is not None
    assert result.stats.by_kind == {"builtin": 1}
    assert bench.model.requests[1].messages[-1].content == (
        ToolResultBlock("a", '{"confirmed":true}'),
    )


async def test_a_question_nobody_can_be_asked_is_warned_of_first(bench: AgentBench) -> None:
    bench.configure(harness={"human_in_the_loop": {"enabled": True}})
    bench.tools = [FakeTool(name="wipe", own_tags=("ai:confirm",))]
    await bench.run(say("hello"))
    assert bench.events.of(Advisory) == [
        Advisory(kind="hitl_no_terminal"),
        Advisory(kind="confirm_no_terminal", count=1),
    ]


async def test_a_tool_of_ours_cannot_be_shadowed(bench: AgentBench) -> None:
    bench.configure(harness={"human_in_the_loop": {"enabled": True}})
    bench.tools = [FakeTool(name="ask_human_confirm")]
    _, error = await bench.run()
    assert isinstance(error, ConfigError)
    assert "ask_human_confirm" in str(error)


async def test_a_second_tool_of_one_name_ends_the_set_up(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look")]
    result, error = await bench.run(app_tools=[FakeTool(name="look", kind="application")])
    assert isinstance(error, ConfigError)
    assert "look" in str(error)
    assert (result.reason, bench.events.names()) == (None, [])
    assert await bench.store.list(Filter()) == []


async def test_a_run_without_any_tool_is_refused(bench: AgentBench) -> None:
    _, error = await bench.run()
    assert isinstance(error, ConfigError)
    assert error.key == "application_path"


async def test_warnings_stand_in_a_fixed_order(bench: AgentBench) -> None:
    gated = FakeTool(name="app", kind="application", own_tags=("ai:confirm", "rw"))
    bench.tools = [FakeTool(name=f"t{n}", own_tags=("rw",)) for n in range(9)]
    bench.capabilities = replace(bench.capabilities, supports_tool_search=False)
    bench.configure(harness={"confirm_tags": ["rw", "nobody"]})
    loaded = [
        Advisory(kind="confirm_tag_unmatched", name="nobody"),
        Advisory(kind="unknown_reserved_tag", name="app", params=("ai:x",)),
    ]
    await bench.run(say("hello"), app_tools=[gated], app_advisories=loaded)
    assert bench.events.of(Advisory) == [
        Advisory(kind="confirm_no_terminal", count=10),
        *loaded,
        Advisory(kind="tool_search_unsupported", count=10),
    ]


async def test_starting_says_what_runs(bench: AgentBench) -> None:
    bench.prompter = ScriptedPrompter()
    bench.tools = [FakeTool(name="wipe", own_tags=("ai:confirm",))]
    await bench.run(say("hello"), app_tools=[FakeTool(name="look", kind="application")])
    assert bench.events.of(Starting) == [
        Starting(
            tools=1,
            thinking_enabled=False,
            confirm_tools=1,
            confirm_tags=(),
            session_id="bench",
            resumed=False,
            no_application=True,
            standing_approvals=(),
        )
    ]


async def test_an_excluded_custom_tool_is_not_offered(bench: AgentBench) -> None:
    bench.tools = [FakeTool(name="look"), FakeTool(name="wipe")]
    bench.configure(exclude={"tools": ["^wipe$"]})
    await bench.run(say("hello"))
    assert [tool.name for tool in bench.model.requests[0].tools] == ["look"]
