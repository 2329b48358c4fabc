"""One run with a memory, a slow colleague and a session, as a process of its own.

``remembering.py DIRECTORY begin`` asks for three calls at once: one reads a memory, one is answered
later by a colleague, one looks. ``answer`` supplies the colleague's answer, on which the model
overwrites the memory it has read; ``resume`` goes on without one. What the model says follows from
the conversation alone, so it says the same in whichever process. Every request and every call of a
tool leaves a line on disk. The end of the run goes to standard output.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from pathlib import Path

from fisk_ai.agent.options import Checkpoint, RunOptions, RunOutcome, SuppliedAnswer
from fisk_ai.agent.run import run
from fisk_ai.config import Config
from fisk_ai.errors import DeferredError, StaleError
from fisk_ai.llm.blocks import message_to_json
from fisk_ai.llm.model import Message, Request, Response, ToolResultBlock, ToolUseBlock
from fisk_ai.llm.provider import Capabilities, DeltaSink
from fisk_ai.memory import scope
from fisk_ai.memory.file import FileMemory
from fisk_ai.memory.store import Memory
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import call, say
from fisk_ai.testing.model import ANTHROPIC_LIKE
from fisk_ai.testing.mortal import drive
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text import gojson

SESSION = "remembering"
KEY = "plan"
SUPPLIED = "they said yes"
OVERWRITE = b'{"key":"plan","description":"d","content":"new","overwrite":true}'


class GuardedMemory(FileMemory):
    """Memories in files that ask for a read before an update, as a shared store does."""

    async def read(self, key: str) -> Memory:
        memory = await super().read(key)
        self._saw(key, memory)
        return memory

    async def update(self, key: str, description: str, content: str) -> None:
        known = scope.current()
        revision = known.revision(key) if known is not None else None
        if revision != revision_of(await super().read(key)):
            raise StaleError(f"{key} was not read")
        await super().update(key, description, content)
        self._saw(key, Memory(description, content))

    def _saw(self, key: str, memory: Memory) -> None:
        known = scope.current()
        if known is not None:
            known.saw(key, revision_of(memory))


def revision_of(memory: Memory) -> int:
    return zlib.crc32(memory.content.encode())


class Model:
    """Says what the conversation asks for, and keeps every request on disk."""

    def __init__(self, requests: Path) -> None:
        self._requests = requests

    def capabilities(self) -> Capabilities:
        return ANTHROPIC_LIKE

    async def call(self, request: Request, on_delta: DeltaSink | None = None) -> Response:
        line = gojson.dumps([message_to_json(message) for message in request.messages]) + b"\n"
        await asyncio.to_thread(note, self._requests, line)
        return reply_to(request.messages)

    async def close(self) -> None:
        return None


def reply_to(messages: Sequence[Message]) -> Response:
    results = {
        block.tool_use_id: block.content
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }
    asked = sum(isinstance(block, ToolUseBlock) for each in messages for block in each.content)
    if not results:
        return call(("a", "memory_read", b'{"key":"plan"}'), ("b", "phone"), ("c", "look"))
    if '"written":true' in results.get(f"w{asked}", ""):
        return say("fine")
    if f"w{asked}" in results:  # it has to read again what an earlier process had read
        return call((f"r{asked + 1}", "memory_read", b'{"key":"plan"}'))
    return call((f"w{asked + 1}", "memory_write", OVERWRITE))


def note(file: Path, line: bytes) -> None:
    with file.open("ab") as opened:
        opened.write(line)


def tools_of(directory: Path) -> list[FakeTool]:
    async def phone(raw: bytes) -> str:
        await asyncio.to_thread(note, directory / "calls", b"phone\n")
        raise DeferredError("asked on the phone")

    async def look(raw: bytes) -> str:
        await asyncio.to_thread(note, directory / "calls", b"look\n")
        return "seen"

    return [FakeTool(name="phone", effect=phone), FakeTool(name="look", effect=look)]


async def main(directory: Path, step: str) -> RunOutcome:
    answer = SuppliedAnswer(tool_use_id="b", content=SUPPLIED) if step == "answer" else None
    checkpoint = Checkpoint(resume_id=SESSION, create_if_missing=step == "begin", answer=answer)
    options = RunOptions(
        config=Config.model_validate(
            {
                "identity": "remembering",
                "llm": {"model": "m"},
                "harness": {"memory": {"enabled": True}},
            }
        ),
        provider=Model(directory / "requests"),
        session_store=FileStore(directory / "runs"),
        memory_store=GuardedMemory(directory / "memory"),
        custom_tools=tools_of(directory),
        prompt="go" if step == "begin" else "",
        context="with care" if step == "begin" else "",
        checkpoint=checkpoint,
    )
    return await run(options)


if __name__ == "__main__":
    drive(main)
