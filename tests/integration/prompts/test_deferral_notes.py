"""What a tool notes beside an answer that comes later is for whoever runs the agent."""

from __future__ import annotations

import pytest

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import ErrorTerminal, WarningBlockEvent
from fisk_ai.errors import DeferredError
from fisk_ai.testing.agent import call
from fisk_ai.testing.caller import RecordingCaller
from fisk_ai.testing.prompts import Bench, model, prompt
from fisk_ai.testing.tools import FakeTool

pytestmark = pytest.mark.integration


async def later(raw: bytes) -> str:
    raise DeferredError("a private note", "handle-7")


async def test_the_note_and_the_handle_of_a_deferral_never_travel(bench: Bench) -> None:
    await bench.serve(
        model(call(("a", "ticket"))),
        tools=[FakeTool(name="ticket", effect=later)],
    )
    caller = RecordingCaller()
    end = await bench.client().run(prompt("go"), caller)
    assert isinstance(end.terminal, ErrorTerminal)
    assert end.terminal.code == "deferred"
    told = [block for block in caller.blocks if isinstance(block, WarningBlockEvent)]
    assert [(block.kind, block.name) for block in told] == [("tool_deferred", "ticket")]
    for text in (*(block.error for block in told), codec.encode(end.terminal).decode()):
        assert "private" not in text
        assert "handle-7" not in text
