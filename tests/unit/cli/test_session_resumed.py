"""What is decided from the command line is what the next run of a session acts on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.config import Config
from fisk_ai.errors import DeferredError, PromptAbortedError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.builtin import hitl


@pytest.fixture
def bench(tmp_path: Path) -> AgentBench:
    config = Config.model_validate(
        {
            "identity": "tester",
            "system_prompt": "be brief",
            "llm": {"model": "m"},
            "harness": {"human_in_the_loop": {"enabled": True}},
        }
    )
    return AgentBench(store=FileStore(tmp_path), config=config)


def _session(tmp_path: Path, verb: str, *words: str) -> None:
    assert main(["session", verb, "--state-dir", str(tmp_path), "bench", *words]) == 0


def _read(bench: AgentBench) -> dict[str, ToolResultBlock]:
    """Return what the model was last sent of its calls."""
    messages = bench.model.requests[-1].messages
    blocks = [block for message in messages for block in message.content]
    return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResultBlock)}


@pytest.fixture
def parked(bench: AgentBench) -> FakeTool:
    """A gated call that a run asked about and nobody answered."""
    tool = FakeTool(name="remove", own_tags=("ai:confirm",))
    bench.tools = [tool]
    bench.prompter = ScriptedPrompter([PromptAbortedError("left")])
    result, _ = asyncio.run(bench.run(call(("a", "remove", b'{"id":"7"}'))))
    assert result.reason == "suspended"
    bench.prompter = ScriptedPrompter()  # present, and asked nothing any more
    return tool


def test_an_approved_call_runs_once_and_nobody_is_asked(
    bench: AgentBench, parked: FakeTool, tmp_path: Path
) -> None:
    _session(tmp_path, "approve")
    result, error = asyncio.run(bench.resume(say("done")))
    assert (result.reason, error) == ("completed", None)
    assert parked.calls == [b'{"id":"7"}']
    assert bench.prompter.approvals == []


def test_a_denied_call_never_runs_and_the_model_reads_why(
    bench: AgentBench, parked: FakeTool, tmp_path: Path
) -> None:
    _session(tmp_path, "deny")
    result, error = asyncio.run(bench.resume(say("as you wish")))
    assert (result.reason, error, parked.calls) == ("completed", None, [])
    told = _read(bench)["a"]
    assert not told.is_error
    assert json.loads(told.content)["allowed"] is False


def test_an_answered_question_is_what_the_model_goes_on_with(
    bench: AgentBench, tmp_path: Path
) -> None:
    bench.prompter = ScriptedPrompter([DeferredError("not answered in time")])
    asked = json.dumps({"question": "Which?", "options": ["red", "blue"]}).encode()
    result, _ = asyncio.run(bench.run(call(("a", hitl.SELECT, asked))))
    assert result.reason == "suspended"
    _session(tmp_path, "answer", "--select", "blue")
    result, error = asyncio.run(bench.resume(say("blue it is")))
    assert (result.reason, error) == ("completed", None)
    assert _read(bench)["a"].content == '{"selected":"blue"}'
