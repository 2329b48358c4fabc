"""Workers whose tools take no notice of being stopped, or try to end the process."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import ErrorTerminal, Result
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.workshop import Worker, Workshop

pytestmark = pytest.mark.integration

Ask = Callable[[AgentClient], Awaitable[TaskEnd]]

OWN = '''\
import asyncio, sys, threading, time
from pathlib import Path

from agent_worker import serve
from fisk_ai.toolkit.typed import tool

HERE = Path(__file__).parent


@tool
async def odd() -> str:
    """Do what no tool should."""
    if (HERE / "begun").is_fifo():
        (HERE / "begun").write_text("now")
    BODY
    return "done"


if __name__ == "__main__":
    sys.exit(serve(tools=[odd]))
'''
ENDLESS = '''\
import asyncio, sys
from pathlib import Path

from agent_worker import serve
from fisk_ai.agent.hooks import Hooks
from fisk_ai.toolkit.typed import tool

HERE = Path(__file__).parent


@tool
async def look() -> str:
    """Look around."""
    return "nothing"


async def hang(end):
    await asyncio.to_thread((HERE / "begun").write_text, end.reason)
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(serve(tools=[look], hooks=Hooks(run_end=hang)))
'''
CONFIG = """\
identity: watchman
system_prompt: Help.
llm: {model: m}
harness: HARNESS
expose: {agent: {a2a: {prompts: {}}}}
"""
SCRIPT = """\
turns:
  - call: [{tool: odd, input: {}}]
  - say: "Done."
"""
SLEEPS = "await asyncio.to_thread(time.sleep, 60)"
SWALLOWS = """
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
"""
EXITS_IN_A_TASK = """
    async def leave():
        sys.exit(7)
    async with asyncio.TaskGroup() as group:
        group.create_task(leave())
"""
EXITS_BESIDE = """
    async def leave():
        sys.exit(7)
    globals()["left"] = asyncio.create_task(leave())
    await asyncio.sleep(0.05)
"""

STOPS_THE_LOOP = """
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
"""
THREAD_RAISES = """
    thread = threading.Thread(target=lambda: [].pop())
    thread.start()
    thread.join()
"""


@pytest.fixture
def agent(caller: Connection) -> AgentClient:
    return AgentClient(caller, "watchman", "tester")


async def started(shop: Workshop, body: str, harness: str = "{}") -> Worker:
    """Start a worker whose tool does ``body``."""
    shop.write("agent.yaml", CONFIG.replace("HARNESS", harness))
    shop.write("script.yaml", SCRIPT)
    own = str(shop.write("own_worker.py", OWN.replace("BODY", body)))
    script = str(shop.directory / "script.yaml")
    return await shop.start("--script", script, program=[own])


@pytest.mark.parametrize("body", [SLEEPS, SWALLOWS])
async def test_the_second_signal_ends_a_worker_whatever_its_tool_does(
    workshop: Workshop, agent: AgentClient, ask: Ask, body: str
) -> None:
    worker = await started(workshop, body)
    begun = workshop.directory / "begun"
    os.mkfifo(begun)
    running = asyncio.ensure_future(ask(agent))
    await asyncio.wait_for(asyncio.to_thread(begun.read_text), 10)
    worker.process.send_signal(signal.SIGTERM)
    worker.process.send_signal(signal.SIGINT)
    end = await asyncio.wait_for(running, 10)
    assert isinstance(end.terminal, ErrorTerminal)
    assert end.terminal.code == "canceled"
    assert await worker.ended() == 0
    assert b"does not end; leaving it" in worker.stderr


async def test_a_drained_worker_does_not_wait_for_a_thread_that_a_tool_left(
    workshop: Workshop, agent: AgentClient, ask: Ask
) -> None:
    worker = await started(workshop, SLEEPS, "{tool_timeout: 50ms}")
    end = await asyncio.wait_for(ask(agent), 10)
    assert isinstance(end.terminal, Result)
    began = time.monotonic()
    worker.process.send_signal(signal.SIGTERM)
    assert await worker.ended() == 0
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "body", ["sys.exit(7)", EXITS_IN_A_TASK, EXITS_BESIDE, STOPS_THE_LOOP, THREAD_RAISES]
)
async def test_a_tool_that_exits_leaves_the_worker_serving(
    workshop: Workshop, agent: AgentClient, ask: Ask, body: str
) -> None:
    worker = await started(workshop, body)
    for _ in range(2):
        end = await asyncio.wait_for(ask(agent), 10)
        assert isinstance(end.terminal, Result)
        assert end.terminal.text == "Done."
    worker.process.send_signal(signal.SIGTERM)
    assert await worker.ended() == 0


@pytest.mark.parametrize("signals", [1, 2])
async def test_an_answer_that_waits_for_its_last_hook_is_told_by_whichever_signal(
    workshop: Workshop, agent: AgentClient, ask: Ask, signals: int
) -> None:
    workshop.write("agent.yaml", CONFIG.replace("HARNESS", "{}"))
    script = str(workshop.write("script.yaml", 'turns: [{say: "Done."}]'))
    own = str(workshop.write("own_worker.py", ENDLESS))
    os.mkfifo(workshop.directory / "begun")
    worker = await workshop.start("--script", script, program=[own])
    running = asyncio.ensure_future(ask(agent))
    reading = asyncio.to_thread((workshop.directory / "begun").read_text)
    assert await asyncio.wait_for(reading, 10) == "completed"
    for number in (signal.SIGTERM, signal.SIGINT)[:signals]:
        worker.process.send_signal(number)
    end = await asyncio.wait_for(running, 8)
    assert isinstance(end.terminal, Result)
    assert end.terminal.text == "Done."
    assert await worker.ended() == 0
