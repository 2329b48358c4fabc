"""One run of an agent with a person, a slow colleague and a session, as a process of its own.

``talker.py DIRECTORY STEP`` does one step: ``begin`` calls the colleague, who answers later;
``answer`` supplies that answer; ``resume`` goes on without one; ``rotate`` talks and begins anew;
``reopen SESSION`` goes on with a conversation. Every call of the colleague leaves a line in
``calls``. The end of the run goes to standard output.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from fisk_ai.agent.options import Checkpoint, NextPrompt, RunOutcome, SuppliedAnswer
from fisk_ai.config import Config
from fisk_ai.errors import DeferredError, FiskError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.text import gojson

SUPPLIED = "they said yes"


def bench_of(directory: Path) -> AgentBench:
    async def phone(raw: bytes) -> str:
        with (directory / "calls").open("a", encoding="utf-8") as file:
            file.write("phone\n")
        raise DeferredError("asked on the phone")

    config = Config.model_validate({"identity": "talker", "llm": {"model": "m"}})
    tools = [FakeTool(name="phone", effect=phone), FakeTool(name="look", output="seen")]
    return AgentBench(store=FileStore(directory / "runs"), config=config, tools=tools)


async def step(bench: AgentBench, name: str, session: str) -> RunOutcome:
    if name == "begin":
        return await bench.run(call(("a", "phone"), ("b", "look")), say("never"))
    if name == "answer":
        answer = SuppliedAnswer(tool_use_id="a", content=SUPPLIED)
        return await bench.resume(say("fine"), answer=answer)
    if name == "resume":
        return await bench.resume(say("fine"))
    if name == "rotate":
        return await bench.converse([NextPrompt(text="fresh", reset=True)], say("a"), say("b"))
    checkpoint = Checkpoint(resume_id=session)
    return await bench.converse(["more"], *map(say, "xyz"), checkpoint=checkpoint)


async def main(directory: Path, name: str, session: str) -> dict[str, object]:
    bench = bench_of(directory)
    result, error = await step(bench, name, session)
    sent = [block.content for block in sent_results(bench)]
    return {
        "reason": result.reason or "",
        "text": result.text,
        "error": error.code if isinstance(error, FiskError) else "",
        "results": sent,
    }


def sent_results(bench: AgentBench) -> list[ToolResultBlock]:
    """Return the results of the newest request, which holds every earlier one, too."""
    messages = bench.model.requests[-1].messages if bench.model.requests else ()
    return [
        block
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]


if __name__ == "__main__":
    arguments = [*sys.argv[1:], ""]
    outcome = asyncio.run(main(Path(arguments[0]), arguments[1], arguments[2]))
    sys.stdout.buffer.write(gojson.dumps(outcome))
