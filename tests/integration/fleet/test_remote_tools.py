"""Tools that one agent lends another: called in a run, and waited for at the start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import (
    EventBlock,
    RequestPrompt,
    Result,
    Sender,
    ToolCallBlockEvent,
    ToolResultBlockEvent,
    request_header,
)
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.workshop import Workshop

pytestmark = pytest.mark.integration

AGENT = """\
identity: {identity}
system_prompt: Work.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{serve_tools: true, prompts: {{}}}}}}}}
remote_tools: [{{name: {peer}, alias: lent}}]
harness: {{sessions: {{backend: file, options: {{directory: state}}}}}}
"""
"""Serves its own tools and imports another agent's."""

Making = Callable[[str, str], Workshop]
Asking = Callable[[], Awaitable[list[str]]]


@pytest.fixture
async def agent(broker: Broker, tmp_path: Path) -> AsyncIterator[Making]:
    made: list[Workshop] = []

    def making(identity: str, peer: str) -> Workshop:
        directory = tmp_path / identity
        application = FakeApplication(
            directory,
            [
                FakeCommand(path="report", output=f"told by {identity}\n"),
                FakeCommand(path=f"of {identity}", output="only here\n"),
            ],
        )
        shop = Workshop(directory, broker.url_with_credentials, application, state="")
        shop.write(
            "agent.yaml",
            AGENT.format(identity=identity, application=application.path, peer=peer),
        )
        shop.write("script.yaml", "turns: [{say: nothing}]\n")
        made.append(shop)
        return shop

    yield making
    for shop in made:
        await shop.close()


class _Watching:
    """Notes what tools returned."""

    def __init__(self) -> None:
        self.results: list[str] = []

    async def on_ack(self, ack: object) -> None:
        assert ack is not None

    async def on_event(self, block: EventBlock) -> None:
        if isinstance(block, ToolCallBlockEvent):
            self.results.append(block.name)
        if isinstance(block, ToolResultBlockEvent):
            self.results.append(block.output)

    async def on_question(self, question: object) -> None:
        raise AssertionError(question)

    async def on_gap(self, missed: int) -> None:
        raise AssertionError(missed)


@pytest.fixture
def results(caller: Connection) -> Asking:
    """Prompt the agent ``here`` and return the names and results of its tool calls."""

    async def asked() -> list[str]:
        watching = _Watching()
        header = request_header(Sender(name="tester"), "here")
        client = AgentClient(caller, "here", "tester")
        end = await client.run(RequestPrompt(**header, prompt="work"), watching)
        assert isinstance(end.terminal, Result)
        return watching.results

    return asked


async def test_agents_that_import_each_other_start_together_and_call_each_other(
    agent: Making, results: Asking
) -> None:
    here, there = agent("here", "there"), agent("there", "here")
    here.write(
        "script.yaml",
        "turns:\n  - call: [{tool: report}, {tool: lent_report}, {tool: of_there}]\n"
        "  - say: done\n",
    )
    await asyncio.gather(here.start("--no-operator"), there.start("--no-operator"))
    told = await results()
    assert told[::2] == ["report", "lent_report", "of_there"]
    assert ["told by here" in told[1], "told by there" in told[3]] == [True, True]
    assert '"exit_code":0' in told[3]


async def test_a_peer_that_goes_away_is_an_error_that_the_model_reads(
    agent: Making, results: Asking
) -> None:
    here, there = agent("here", "there"), agent("there", "here")
    here.write("script.yaml", "turns:\n  - call: [{tool: of_there}]\n  - say: done\n")
    await asyncio.gather(here.start("--no-operator"), there.start("--no-operator"))
    await there.close()
    told = await results()
    assert told[0] == "of_there"
    assert 'no agent serves tools as "there"' in told[1]


async def test_a_peer_that_never_comes_stops_the_start_and_is_named(agent: Making) -> None:
    here = agent("here", "nobody")
    short = {"FISK_AI_START_TIMEOUT": "1s"}
    worker = await here.start("--no-operator", environ=short)
    assert await worker.ended() == 1
    assert 'remote_tools: the card of agent "nobody" could not be read within' in worker.error
