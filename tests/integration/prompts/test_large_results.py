"""What a function of an embedder returns is bounded before anybody is given it."""

from __future__ import annotations

import pytest

from fisk_ai.a2a.messages import Result, ToolResultBlockEvent
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, model, prompt
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration

LARGE = "THE BEGINNING " + "x" * 10_000_000 + " THE END"
MARKER = "\n...[output truncated]...\n"
KEPT_BYTES = 32_000
BLOCK_LIMIT_BYTES = 65_536


async def asked(bench: Bench, mode: str, output: str = LARGE) -> tuple[str, str]:
    """Return what the model and what the caller were told of a result."""
    serving = await bench.serve(
        model(call(("a", "big")), say("done")),
        tools=[FakeTool(name="big", output=output)],
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


@pytest.mark.parametrize("mode", ["redact", "off"])
async def test_ten_megabytes_from_a_function_are_cut_to_their_ends_for_everybody(
    bench: Bench, mode: str
) -> None:
    read, told = await asked(bench, mode)
    assert read == LARGE[:KEPT_BYTES] + MARKER + LARGE[-KEPT_BYTES:]
    assert told == read


async def test_a_result_too_large_for_a_message_is_cut_for_the_caller_alone(bench: Bench) -> None:
    whole = LARGE[:318_000]
    read, told = await asked(bench, "redact", whole)
    assert read == whole
    shown, _, note = told.rpartition("\n")
    assert whole.startswith(shown)
    assert len(shown.encode()) <= BLOCK_LIMIT_BYTES
    assert note.startswith("[trimmed")
