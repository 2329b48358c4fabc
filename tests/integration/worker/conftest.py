"""A real worker process over a real broker, with a scripted model and a fake application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    RequestPrompt,
    Sender,
    request_header,
)
from fisk_ai.bus.broker import Broker
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.workshop import Workshop

SCRIPT = """\
turns:
  - call: [{tool: report, input: {}}]
  - say: "All is well."
"""


@pytest.fixture
async def workshop(broker: Broker, tmp_path: Path) -> AsyncIterator[Workshop]:
    directory = tmp_path / "agent"
    application = FakeApplication(
        directory,
        [
            FakeCommand(path="report", output="3 nodes, none failed\n"),
            FakeCommand(path="hold", output="held\n", wait_for=directory / "gate"),
        ],
    )
    shop = Workshop(directory, broker.url_with_credentials, application)
    shop.write(
        "agent.yaml",
        f"identity: watchman\nsystem_prompt: Watch.\napplication_path: {application.path}\n"
        "llm:\n  model: test-model\n",
    )
    shop.write("script.yaml", SCRIPT)
    yield shop
    shop.gate.touch()
    await shop.close()


@pytest.fixture
def held_script(workshop: Workshop) -> Callable[[], None]:
    """Have the model call the command that waits for the gate, and another behind it."""

    def write() -> None:
        held = "[{tool: hold, input: {}}, "
        workshop.write("script.yaml", SCRIPT.replace("[", held))

    return write


@pytest.fixture
def ask() -> Callable[[AgentClient], Awaitable[TaskEnd]]:
    """Send an agent one prompt and wait for its terminal."""

    async def send(agent: AgentClient) -> TaskEnd:
        header = request_header(Sender(name="tester"), "watchman")
        return await agent.run(RequestPrompt(**header, prompt="hello"), GaplessCaller())

    return send
