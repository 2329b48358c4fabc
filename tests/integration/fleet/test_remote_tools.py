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
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.workshop import Workshop, typing_in

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


@pytest.fixture
def results(caller: Connection) -> Asking:
    """Prompt the agent ``here`` and return the names and results of its tool calls."""

    async def asked() -> list[str]:
        watching = GaplessCaller()
        header = request_header(Sender(name="tester"), "here")
        client = AgentClient(caller, "here", "tester")
        end = await client.run(RequestPrompt(**header, prompt="work"), watching)
        assert isinstance(end.terminal, Result)
        return [text for block in watching.blocks if (text := _said(block))]

    return asked


def _said(block: EventBlock) -> str:
    if isinstance(block, ToolCallBlockEvent):
        return block.name
    return block.output if isinstance(block, ToolResultBlockEvent) else ""


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


ALONE = """\
identity: here
system_prompt: Work.
llm: {model: test-model, provider: scripted, options: {script: script.yaml}}
expose: {agent: {a2a: {prompts: {}}}}
remote_tools: [{name: there, include: {tools: [nothing]}}]
harness: {sessions: {backend: file, options: {directory: state}}}
"""


async def test_an_agent_that_nobody_lends_a_tool_and_has_none_is_refused(agent: Making) -> None:
    here, there = agent("here", "there"), agent("there", "here")
    there.write(
        "agent.yaml",
        f"identity: there\napplication_path: {there.application.path}\n"
        "expose: {agent: {a2a: {serve_tools: true}}}\n",
    )
    here.write("agent.yaml", ALONE)
    await there.start("--no-operator")
    worker = await here.start("--no-operator")
    assert await worker.ended() == 1
    assert "no tools available" in worker.error


async def test_a_terminals_agent_calls_tools_of_the_fleet_of_its_context(
    agent: Making, broker: Broker
) -> None:
    here, there = agent("here", "there"), agent("there", "here")
    there.write(
        "agent.yaml",
        f"identity: there\napplication_path: {there.application.path}\n"
        "expose: {agent: {a2a: {serve_tools: true}}}\n",
    )
    await there.start("--no-operator")
    here.write(
        "agent.yaml",
        "system_prompt: Work.\nllm: {model: m}\n"
        "nats_context: fleet\nremote_tools: [{name: there}]\n",
    )
    here.write("script.yaml", "turns:\n  - call: [{tool: of_there}]\n  - say: done\n")
    here.write_context("fleet", broker)
    script = str(here.directory / "script.yaml")
    done = await typing_in(here.directory)(
        "run", "--no-tui", "--tool-output", "--script", script, "--config", "agent.yaml", "go"
    )
    assert (done.code, done.out) == (0, "done\n"), done.err
    assert "only here" in done.err
