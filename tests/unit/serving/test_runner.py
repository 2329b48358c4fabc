"""What a piece of work becomes as a run, and a run as an outcome."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from fisk_ai.agent.hooks import Hooks, RunStart
from fisk_ai.agent.options import (
    Budget,
    Checkpoint,
    DeferredCall,
    RunOptions,
    RunResult,
    Stats,
)
from fisk_ai.config import Mode, loads
from fisk_ai.errors import FiskError
from fisk_ai.llm.trace import TraceFile
from fisk_ai.memory.file import FileMemory
from fisk_ai.serving.contract import Caller, Outcome, Work
from fisk_ai.serving.runner import Resources, options_of, outcome_of_run
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.model import ScriptedProvider
from fisk_ai.testing.tools import FakeTool


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    text = "identity: x\nsystem_prompt: p\nllm: {model: m}\n"
    return Resources(
        config=loads(text, Mode.AGENT, source=tmp_path / "agent.yaml"),
        provider=ScriptedProvider(),
        session_store=FileStore(tmp_path),
    )


async def _done(_: Outcome) -> None:
    return


def test_everything_a_channel_says_of_its_work_reaches_the_run(resources: Resources) -> None:
    work = Work(
        id="w",
        done=_done,
        prompt="question",
        context="context",
        checkpoint=Checkpoint(resume_id="t-1", follow_up=True),
        claimed_by="request",
        suspend_requested=lambda: True,
        budget=Budget(max_tokens=5),
        caller=Caller(name="slack"),
        human_paced=True,
    )

    options = options_of(work, resources)

    assert (options.prompt, options.context, options.claimed_by) == (
        "question",
        "context",
        "request",
    )
    assert options.checkpoint == Checkpoint(resume_id="t-1", follow_up=True, caller="slack")
    assert options.suspend_requested()
    assert options.budget == Budget(max_tokens=5)
    assert options.human_paced
    assert options.prompter is work.prompter
    assert options.config is resources.config


async def test_everything_a_worker_built_reaches_each_run(
    resources: Resources, tmp_path: Path
) -> None:
    async def started(_: RunStart) -> None:
        return

    built = replace(
        resources,
        hooks=Hooks(run_start=started),
        memory_store=FileMemory(tmp_path / "memory"),
        trace=TraceFile.create(tmp_path / "trace", model="m", config="c", version="v"),
        custom_tools=(FakeTool(name="own"),),
        tool_work_dir=tmp_path,
        store_dir=tmp_path,
        verbose=True,
    )

    options = options_of(Work(id="w", done=_done), built)

    shared = {each.name for each in fields(Resources)} & {each.name for each in fields(RunOptions)}
    assert shared >= {"hooks", "memory_store", "trace", "custom_tools", "store_dir", "app_tools"}
    for name in shared:
        assert getattr(options, name) is getattr(built, name)
    assert isinstance(built.trace, TraceFile)
    await built.trace.close()


def test_work_without_a_journal_stays_without_one(resources: Resources) -> None:
    assert options_of(Work(id="w", done=_done), resources).checkpoint is None


def test_everything_a_run_reports_reaches_the_channel() -> None:
    error = FiskError("drifted")
    result = RunResult(
        reason="suspended",
        session_id="t-1",
        text="so far",
        stats=Stats(llm_calls=2),
        deferred=(DeferredCall(tool_use_id="a", tool_name="b"),),
        follow_up_taken=True,
        crashed=True,
    )

    outcome = outcome_of_run(Work(id="w", done=_done), result, error)

    assert outcome.id == "w"
    assert outcome.error is error
    for field in fields(RunResult):
        assert getattr(outcome, field.name) == getattr(result, field.name)
