"""A worker of one's own, which adds tools and hooks, and what a worker takes besides."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agent_worker import serve
from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import Result
from fisk_ai.agent.hooks import Hooks
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.broker import running_server
from fisk_ai.testing.workshop import Workshop
from fisk_ai.toolkit.typed import tool

pytestmark = pytest.mark.integration

Ask = Callable[..., Awaitable[TaskEnd]]

OWN = '''\
"""A worker with a tool and a hook of its own."""

import sys
from pathlib import Path

from agent_worker import serve
from fisk_ai.agent.hooks import Hooks, RunStart
from fisk_ai.toolkit.typed import tool

HERE = Path(__file__).parent


@tool
async def weather(city: str, days: int = 1) -> str:
    """Tell the weather of a city."""
    return f"{days} days of rain in {city}"


async def started(run: RunStart) -> None:
    (HERE / "started").write_text(" ".join(run.tool_names))


if __name__ == "__main__":
    sys.exit(serve(tools=[weather], hooks=Hooks(run_start=started)))
'''
SCRIPT = """\
turns:
  - call: [{tool: weather, input: {city: Malta, days: 3}}]
  - say: "Take an umbrella."
"""


@pytest.fixture
def own(workshop: Workshop) -> list[str]:
    """Write the file, a script that calls its tool, and a configuration without an application."""
    workshop.write("agent.yaml", "identity: watchman\nsystem_prompt: Help.\nllm: {model: m}\n")
    workshop.write("script.yaml", SCRIPT)
    return [str(workshop.write("own_worker.py", OWN))]


def _script(shop: Workshop) -> list[str]:
    return ["--script", str(shop.directory / "script.yaml")]


async def test_a_tool_of_ones_own_answers_the_model(
    workshop: Workshop, own: list[str], agent: AgentClient, ask: Ask
) -> None:
    worker = await workshop.start("--hosted", *_script(workshop), program=own)
    assert worker.said == [{"ready": True, "identity": "watchman"}]

    end = await asyncio.wait_for(ask(agent), 10)

    assert isinstance(end.terminal, Result)
    assert end.terminal.text == "Take an umbrella."
    assert (workshop.directory / "started").read_text() == "weather"
    assert "3 days of rain in Malta" in _records(workshop)
    worker.disown()
    assert await worker.ended() == 0


def test_naming_the_worker_imports_nothing_of_it() -> None:
    program = (
        "import sys, agent_worker; sys.exit(any(m.startswith('fisk_ai') for m in sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=15).returncode == 0


async def test_a_worker_of_ones_own_refuses_its_start_like_any_other(
    workshop: Workshop, own: list[str]
) -> None:
    workshop.write("own_worker.py", OWN.replace("tools=[weather]", "tools=[weather, weather]"))

    worker = await workshop.start("--hosted", *_script(workshop), program=own)

    assert await worker.ended() == 1
    assert 'custom tool 1 "weather" collides with the earlier custom tool' in worker.error
    assert b"Traceback" not in worker.stderr


@tool
async def _fine(city: str) -> str:
    """Be a tool."""
    return city


@pytest.mark.parametrize(
    ("tools", "hooks", "reason"),
    [
        ([1, None, "x"], None, "tools[0] of type int, which is not a tool; make one with"),
        ([_fine, str], None, "tools[1] of type type, which is not a tool; make one with"),
        (_fine, None, "tools of type FunctionTool, which is not a list of tools"),
        ((), "x", "hooks of type str, which is not fisk_ai.agent.hooks.Hooks"),
        (
            (),
            Hooks(run_end=cast("Any", "x")),
            "hooks.run_end of type str, which is not an async function",
        ),
    ],
)
def test_what_is_no_tool_and_no_hooks_stops_the_start(
    tools: Any,
    hooks: Any,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert serve(tools=tools, hooks=hooks, argv=["--config", "none.yaml"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"agent_worker: error: serve was given {reason}")


async def test_an_agent_without_a_single_tool_is_told_what_would_add_one(
    workshop: Workshop, own: list[str]
) -> None:
    workshop.write("own_worker.py", OWN.replace("tools=[weather]", "tools=[]"))

    worker = await workshop.start("--hosted", *_script(workshop), program=own)

    assert await worker.ended() == 1
    assert "sets no application_path and nothing else adds a tool" in worker.error


async def test_built_in_tools_are_enough_for_an_agent(
    workshop: Workshop, agent: AgentClient, ask: Ask
) -> None:
    workshop.write(
        "agent.yaml",
        "identity: watchman\nsystem_prompt: Help.\nllm: {model: m}\n"
        f"root_directory: {workshop.directory}\n"
        "harness: {tools: [{name: read_file}], memory: {enabled: true}}\n",
    )
    workshop.write("notes.txt", "buy hay")
    workshop.write(
        "script.yaml",
        "turns:\n"
        "  - call: [{tool: read_file, input: {path: notes.txt}}]\n"
        "  - call: [{tool: memory_write,"
        " input: {key: errand, description: what to buy, content: hay}}]\n"
        "  - say: Noted.\n",
    )
    await workshop.start("--hosted", *_script(workshop))

    end = await asyncio.wait_for(ask(agent), 10)

    assert isinstance(end.terminal, Result)
    records = _records(workshop)
    assert "buy hay" in records
    kept = list((workshop.directory / "memory" / "watchman").iterdir())
    assert [path.stem for path in kept] == ["errand"]


@pytest.mark.parametrize("argument", ["--trace", "--http-debug"])
async def test_a_debug_file_that_cannot_be_made_stops_the_start(
    workshop: Workshop, own: list[str], argument: str
) -> None:
    nowhere = str(workshop.directory / "absent" / "file")

    worker = await workshop.start("--hosted", *_script(workshop), argument, nowhere, program=own)

    assert await worker.ended() == 1
    assert "creating" in worker.error


async def test_a_trace_ends_with_what_the_run_did(
    workshop: Workshop, own: list[str], agent: AgentClient, ask: Ask
) -> None:
    trace = workshop.directory / "trace.jsonl"
    worker = await workshop.start(
        "--hosted", *_script(workshop), "--trace", str(trace), program=own
    )
    await asyncio.wait_for(ask(agent), 10)
    worker.disown()
    await worker.ended()

    lines = [cast("dict[str, object]", json.loads(line)) for line in trace.read_text().splitlines()]
    assert lines
    summary = json.dumps(lines[-1])
    assert '"llm_calls": 2' in summary
    assert '"tool_calls": 1' in summary


def _records(shop: Workshop) -> str:
    sessions = (shop.directory / "state").glob("*.json")
    return "\n".join(path.read_text() for path in sessions)


async def test_a_served_worker_connects_by_its_context(
    workshop: Workshop, broker: Broker, agent: AgentClient, ask: Ask
) -> None:
    _serve_by_context(workshop, url=broker.url, user=broker.user, password=broker.password)
    worker = await workshop.start(
        *_script(workshop), environ={"FISK_AI_NATS_URL": "", **_config_home(workshop)}
    )

    assert worker.said == [{"ready": True, "identity": "watchman"}]
    assert isinstance((await asyncio.wait_for(ask(agent), 10)).terminal, Result)


async def test_an_address_counts_where_the_context_has_no_file(
    workshop: Workshop, agent: AgentClient, ask: Ask
) -> None:
    _serve_by_context(workshop)

    worker = await workshop.start(*_script(workshop), environ=_config_home(workshop))

    assert worker.said == [{"ready": True, "identity": "watchman"}]
    assert isinstance((await asyncio.wait_for(ask(agent), 10)).terminal, Result)


async def test_a_context_without_a_file_or_an_address_is_told(workshop: Workshop) -> None:
    _serve_by_context(workshop)

    worker = await workshop.start(
        *_script(workshop), environ={"FISK_AI_NATS_URL": "", **_config_home(workshop)}
    )

    assert await worker.ended() == 1
    assert 'connecting to NATS context "prod": ' in worker.error
    assert "does not exist" in worker.error


async def test_the_inbox_prefix_of_the_process_beats_that_of_the_context(
    workshop: Workshop, tmp_path: Path
) -> None:
    rights = (
        'listen: "127.0.0.1:-1"\n'
        "authorization { users: [{user: w, password: p, permissions: {\n"
        '  publish: [">"], subscribe: ["$SRV.>", "choria.fisk-ai.>", "_INBOX_own.>"]}}]}\n'
    )
    async with running_server(tmp_path / "restricted", rights) as url:
        _serve_by_context(workshop, url=url, user="w", password="p", inbox_prefix="_INBOX_foreign")
        environ = {"FISK_AI_NATS_INBOX_PREFIX": "_INBOX_own", **_config_home(workshop)}
        worker = await workshop.start(*_script(workshop), environ=environ)

        assert worker.said == [{"ready": True, "identity": "watchman"}]


def _config_home(shop: Workshop) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(shop.directory / "config")}


def _serve_by_context(shop: Workshop, **context: str) -> None:
    """Name a context in the configuration; with values, write its file, too."""
    exposed = "nats_context: prod\nexpose: {agent: {a2a: {prompts: {}}}}\n"
    written = (shop.directory / "agent.yaml").read_text()
    shop.write("agent.yaml", written + exposed)
    if context:
        folder = shop.directory / "config" / "nats" / "context"
        folder.mkdir(parents=True)
        (folder / "prod.json").write_text(json.dumps(context))


@pytest.fixture
def agent(caller: Connection) -> AgentClient:
    return AgentClient(caller, "watchman", "tester")
