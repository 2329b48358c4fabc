"""Sessions that are kept at a broker, looked at and run from a terminal."""

from __future__ import annotations

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.session_records import assistant, result, terminal, write
from fisk_ai.testing.workshop import Types, Workshop

pytestmark = pytest.mark.integration

AGENT = ("--config", "agent.yaml")

HOSTED = """\
identity: watchman
system_prompt: Watch.
application_path: {application}
nats_context: fleet
llm: {{model: test-model}}
harness:
  sessions: {{backend: jetstream, options: {{stream: RUNS}}}}
"""


async def test_sessions_of_a_stream_are_listed_shown_and_removed_over_the_broker(
    fleet: Workshop, js: JetStream, runs: StreamStore, fleet_types: Types
) -> None:
    await write(runs, "one", assistant("a", say="Moo"), result("a"), terminal())
    reached = {"FISK_AI_NATS_URL": fleet.url}
    listed = await fleet_types("session", "ls", *AGENT, **reached)
    assert (listed.code, listed.err) == (0, "")
    assert "one" in listed.out
    shown = await fleet_types("session", "show", "one", "--transcript", *AGENT, **reached)
    assert "Status: completed" in shown.out
    assert "Moo" in shown.out
    removed = await fleet_types("session", "rm", "one", *AGENT, **reached)
    assert removed.out == "Removed session one\n"
    assert await runs.list(Filter()) == []


async def test_sessions_of_a_stream_are_read_by_a_context_that_was_typed(
    fleet: Workshop, js: JetStream, runs: StreamStore, broker: Broker, fleet_types: Types
) -> None:
    await write(runs, "one", assistant("a", say="Moo"), result("a"), terminal())
    fleet.write_context("fleet", broker)
    there = ("--nats-context", "fleet")
    listed = await fleet_types("session", *there, "ls", *AGENT)
    assert (listed.code, listed.err) == (0, "")
    assert "one" in listed.out
    nowhere = await fleet_types("session", "stats", "one", *there)
    assert nowhere.code == 1
    assert "--nats-context needs --config" in nowhere.err
    fleet.write("files.yaml", "identity: watchman\nharness: {sessions: {backend: file}}\n")
    files = await fleet_types("session", "ls", *there, "--config", "files.yaml")
    assert files.code == 1
    assert "and these are files" in files.err


async def test_a_terminals_agent_keeps_its_session_at_the_broker_of_its_context(
    fleet: Workshop, js: JetStream, runs: StreamStore, broker: Broker, fleet_types: Types
) -> None:
    fleet.write("agent.yaml", HOSTED.format(application=fleet.application.path))
    fleet.write("script.yaml", "turns: [{say: kept elsewhere}]\n")
    fleet.write_context("fleet", broker)
    script = str(fleet.directory / "script.yaml")
    done = await fleet_types("run", "--no-tui", "--script", script, "go", *AGENT)
    assert (done.code, done.out) == (0, "kept elsewhere\n")
    (row,) = await runs.list(Filter())
    assert row.status == "completed"


async def test_a_terminals_agent_without_a_context_says_that_it_needs_one(
    fleet: Workshop, js: JetStream, fleet_types: Types
) -> None:
    fleet.write(
        "agent.yaml",
        HOSTED.format(application=fleet.application.path).replace("nats_context: fleet\n", ""),
    )
    fleet.write("script.yaml", "turns: [{say: no}]\n")
    script = str(fleet.directory / "script.yaml")
    done = await fleet_types("run", "--no-tui", "--script", script, "go", *AGENT)
    assert done.code == 1
    assert "nats_context" in done.err
    assert len(done.err.strip().splitlines()) == 1
