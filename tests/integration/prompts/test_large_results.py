"""What a function of an embedder returns has no bound of its own; whoever passes it on has one."""

from __future__ import annotations

import pytest

from fisk_ai.a2a.messages import Result, ToolResultBlockEvent
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, model, prompt
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

LARGE = "THE BEGINNING" + "x" * 10_000_000 + "THE END"
BLOCK_LIMIT_BYTES = 65_536


async def asked(bench: Bench, mode: str) -> tuple[str, str]:
    """Return what the model and what the caller were told of a result of ten megabytes."""
    serving = await bench.serve(
        model(call(("a", "big")), say("done")),
        tools=[FakeTool(name="big", output=LARGE)],
        harness={"pii": {"mode": mode}},
    )
    caller = RecordingCaller()
    end = await bench.client().run(prompt("go"), caller)
    assert isinstance(end.terminal, Result)
    assert (end.terminal.text, caller.gaps) == ("done", [])
    (told,) = (block for block in caller.blocks if isinstance(block, ToolResultBlockEvent))
    (result,) = serving.model.requests[-1].messages[-1].content
    assert isinstance(result, ToolResultBlock)
    return result.content, told.output


async def test_a_result_too_large_to_be_scanned_is_withheld_from_everybody(bench: Bench) -> None:
    read, told = await asked(bench, "redact")
    assert read == told
    assert "could not be scanned" in read
    assert "x" * 100 not in read


async def test_a_result_too_large_for_a_message_is_cut_for_the_caller_alone(bench: Bench) -> None:
    read, told = await asked(bench, "off")
    assert read == LARGE
    shown, _, note = told.rpartition("\n")
    assert LARGE.startswith(shown)
    assert len(shown.encode()) <= BLOCK_LIMIT_BYTES
    assert note.startswith("[trimmed")
