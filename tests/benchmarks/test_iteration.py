"""What an iteration of the loop costs, in the two durable appends it cannot do without."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from fisk_ai.agent.options import Checkpoint, RunOptions
from fisk_ai.agent.run import run
from fisk_ai.config import Config
from fisk_ai.llm.model import Request, Response, TextBlock, ToolUseBlock, Usage
from fisk_ai.llm.provider import Capabilities, DeltaSink
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.tools import FakeTool

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(60)]

ITERATIONS = 300
WARM_UP = 20
SESSION = "measured"
ARGUMENTS = b'{"query":"the quick brown fox","limit":20}'
OUTPUT = "one line of what a tool may well print\n" * 8


class Alternating:
    """A model that does the bare appends itself, so that both meet the same disk.

    From an answer to the next request is one iteration. Before it answers, the model writes what
    that iteration added to the journal to a file beside it, with one fsync per record.
    """

    def __init__(self, journal: Path) -> None:
        self.iterations_s: list[float] = []
        self.bare_s: list[float] = []
        self.bytes = 0
        self._journal = journal
        self._bare = os.open(journal.parent / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._answered = 0.0
        self._read = 0

    def capabilities(self) -> Capabilities:
        return Capabilities(provider="measured", semconv_provider="measured")

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        asked = time.perf_counter()
        added = self._added()
        if self._answered:
            self.iterations_s.append(asked - self._answered)
            self.bare_s.append(self._append(added))
        done = len(self.iterations_s)
        content = ToolUseBlock(f"call_{done}", "look_up", ARGUMENTS)
        answer = Response((TextBlock("Let me look that up."), content), "tool_use", Usage(100, 10))
        if done == ITERATIONS:
            answer = Response((TextBlock("done"),), "end_turn", Usage(100, 10))
        self._answered = time.perf_counter()
        return answer

    async def close(self) -> None:
        os.close(self._bare)

    def _added(self) -> list[bytes]:
        with self._journal.open("rb") as file:
            file.seek(self._read)
            lines = file.readlines()
        self._read += sum(map(len, lines))
        return lines

    def _append(self, lines: list[bytes]) -> float:
        assert len(lines) == 2, "an iteration with one call adds a reply and a result"
        self.bytes = sum(map(len, lines))
        started = time.perf_counter()
        for line in lines:
            os.write(self._bare, line)
            os.fsync(self._bare)
        return time.perf_counter() - started


def test_an_iteration_with_one_tool(disk: Path, row: Callable[[str, str, str, str], None]) -> None:
    model = Alternating(disk / f"{SESSION}.json")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result, error = runner.run(run(_options(model, disk)))
        runner.run(model.close())

    assert (result.reason, error) == ("completed", None)
    iteration = statistics.median(model.iterations_s[WARM_UP:])
    bare = statistics.median(model.bare_s[WARM_UP:])
    row(
        "iteration with one in-process tool / two bare appends with fsync",
        f"{iteration / bare:.2f}x",
        "2x",
        f"{iteration * 1000:.2f} ms / {bare * 1000:.2f} ms, {model.bytes} bytes, "
        f"medians of {ITERATIONS - WARM_UP}, alternating",
    )


def _options(model: Alternating, directory: Path) -> RunOptions:
    budget = {"max_iterations": ITERATIONS + 1, "max_tokens": 1_000_000}
    config = {
        "identity": "bench",
        "system_prompt": "You are measured.",
        "llm": {"model": "small", "budget": budget},
    }
    return RunOptions(
        config=Config.model_validate(config),
        provider=model,
        session_store=FileStore(directory),
        custom_tools=[FakeTool(name="look_up", output=OUTPUT)],
        prompt="go",
        checkpoint=Checkpoint(resume_id=SESSION, create_if_missing=True),
    )
