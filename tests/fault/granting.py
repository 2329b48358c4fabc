"""One run of an agent with a gated tool and a person, as a process of its own.

``granting.py DIRECTORY begin`` allows the first call of the tool for always; ``resume`` has the
model call it once more, and the person allows whatever is asked once. Every question leaves a line
in ``asked``, every call of the tool one in ``calls``. The end of the run goes to standard output.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from fisk_ai.agent.options import RunOutcome
from fisk_ai.config import Config
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.testing.mortal import drive
from fisk_ai.testing.prompts import GATED
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.prompter import Choice, GateRequest


class Person(ScriptedPrompter):
    """Gives one answer to every question, which is on disk before it is given."""

    def __init__(self, directory: Path, choice: Choice) -> None:
        super().__init__()
        self._directory = directory
        self._choice: Choice = choice

    async def approve(self, request: GateRequest) -> Choice:
        await asyncio.to_thread(note, self._directory / "asked", request.tool_use_id)
        return self._choice


def note(file: Path, line: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"{line}\n")


async def main(directory: Path, step: str) -> RunOutcome:
    async def remove(raw: bytes) -> str:
        await asyncio.to_thread(note, directory / "calls", "remove")
        return "removed"

    bench = AgentBench(
        store=FileStore(directory / "runs"),
        config=Config.model_validate({"identity": "granting", "llm": {"model": "m"}}),
        tools=[FakeTool(name="remove", own_tags=GATED, effect=remove)],
        prompter=Person(directory, "always" if step == "begin" else "once"),
    )
    if step == "begin":
        return await bench.run(call(("a", "remove")), say("never"))
    return await bench.resume(call(("b", "remove")), say("done"))


if __name__ == "__main__":
    drive(main)
