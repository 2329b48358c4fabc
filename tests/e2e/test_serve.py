"""``fisk-ai serve``: a fleet with a broker of its own, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.a2a import messages as m
from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.bus.connection import ConnectOptions, connect
from fisk_ai.errors import FiskError
from fisk_ai.testing.caller import GaplessCaller
from fisk_ai.testing.command import Agent, Done, Running, alive, children, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

PROMPTS = "expose: {agent: {a2a: {prompts: {workers: 2}}}}\n"
STREAM = "harness: {sessions: {backend: jetstream, options: {stream: RUNS}}}\nnats_context: FLEET\n"
SERVING = "serving cow: agent-worker"
_CALL = '{call: [{tool: say, input: {message: "Moo"}}]}'
_WAIT = "{call: [{tool: wait, input: {}}]}"


@pytest.fixture
def fleet(agent: Agent) -> Agent:
    """An agent that answers prompts and keeps its sessions in a stream."""
    agent.extend(PROMPTS + STREAM)
    return agent


@pytest.fixture
def reaped(agent: Agent) -> Iterator[list[int]]:
    """Process ids that must be gone when the test is."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def serving(agent: Agent, *words: str, script: bool = True, **environ: str) -> Running:
    """Start a fleet and wait until it serves."""
    rehearsed = ("--script", "script.yaml") if script else ()
    running = agent.start("serve", "--embedded-broker", *rehearsed, *words, environ=environ)
    running.wait_said(SERVING)
    return running


def context(agent: Agent, name: str = "FLEET") -> Path:
    return agent.home / ".config" / "nats" / "context" / f"{name}.json"


async def _ask(agent: Agent, text: str, name: str) -> TaskEnd:
    kept = json.loads(context(agent, name).read_text(encoding="utf-8"))
    options = ConnectOptions(kept["url"], "peer", user=kept["user"], password=kept["password"])
    connection = await connect(options)
    try:
        client = AgentClient(connection, "cow", "peer")
        header = m.request_header(m.Sender(name="peer"), "cow")
        return await client.run(m.RequestPrompt(**header, prompt=text), GaplessCaller())
    finally:
        await connection.drain()


class _Asking:
    """A peer that waits for its answer while the test goes on."""

    def __init__(self, agent: Agent) -> None:
        self._end: TaskEnd | None = None
        self._thread = threading.Thread(target=self._ask, args=(agent,), daemon=True)
        self._thread.start()

    def _ask(self, agent: Agent) -> None:
        with suppress(FiskError):  # the broker may be gone before the answer
            self._end = asyncio.run(_ask(agent, "tell me", "FLEET"))

    def code(self) -> str:
        """Return the code that its request ended with; empty for an answer."""
        self._thread.join(30)
        assert self._end is not None
        terminal = self._end.terminal
        return terminal.code if isinstance(terminal, m.ErrorTerminal) else ""


def ask(agent: Agent, text: str = "tell me", *, name: str = "FLEET") -> str:
    """Prompt the fleet as a peer, and return its answer."""
    end = asyncio.run(_ask(agent, text, name))
    assert isinstance(end.terminal, m.Result), end.terminal
    return end.terminal.text


def events(done: Done) -> list[dict[str, object]]:
    """Return what was logged as records."""
    return [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]


def test_a_fleet_from_an_empty_directory_answers_a_peer_and_ends_on_a_signal(fleet: Agent) -> None:
    fleet.script(_CALL, "{say: It says Moo.}")
    running = serving(fleet)
    everyone = list(children(running.pid))
    assert len(everyone) == 2
    assert ask(fleet) == "It says Moo."
    listed = fleet.run("session", "ls", "--config", "agent.yaml")
    assert "completed" in listed.out
    running.signal(signal.SIGTERM)
    done = running.end()
    assert (done.status, done.out) == (0, "")
    assert "draining: no new work is taken" in done.err
    assert not any(alive(pid) for pid in everyone)


def test_the_login_is_in_a_file_of_its_owner_and_in_no_log_or_argument(fleet: Agent) -> None:
    running = serving(fleet, "--verbose")
    kept = json.loads(context(fleet).read_text(encoding="utf-8"))
    file = context(fleet).resolve()
    assert file == fleet.home / "state" / "fisk-ai" / "broker" / "context.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept["password"] not in " ".join(children(running.pid).values())
    running.signal(signal.SIGTERM)
    assert kept["password"] not in running.end().err


def test_a_fleet_that_is_started_again_keeps_its_address_its_login_and_its_sessions(
    fleet: Agent,
) -> None:
    first = serving(fleet)
    ask(fleet)
    before = context(fleet).read_text(encoding="utf-8")
    first.signal(signal.SIGTERM)
    first.end()
    second = serving(fleet)
    assert context(fleet).read_text(encoding="utf-8") == before
    assert "completed" in fleet.run("session", "ls", "--config", "agent.yaml").out
    assert "RUNS: exists" in second.said()


def test_a_context_of_somebody_else_is_never_touched(fleet: Agent) -> None:
    context(fleet).parent.mkdir(parents=True)
    context(fleet).write_text('{"url": "nats://elsewhere.example:4222"}', encoding="utf-8")
    running = serving(fleet)
    assert context(fleet).read_text(encoding="utf-8") == (
        '{"url": "nats://elsewhere.example:4222"}'
    )
    assert 'the context \\"FLEET\\" of the configuration is another broker' in running.said()
    assert ask(fleet, name="fisk-ai-cow") == "It says Moo."


def test_a_second_fleet_on_one_store_is_refused_in_words(fleet: Agent) -> None:
    serving(fleet)
    second = fleet.run("serve", "--embedded-broker", "--script", "script.yaml")
    assert second.status == 1
    assert second.err.splitlines()[-1].startswith(
        "fisk-ai: error: another broker runs on the store"
    )
    assert ask(fleet) == "It says Moo."


def test_a_worker_in_another_terminal_serves_at_the_same_broker(fleet: Agent) -> None:
    fleet.script(_WAIT, "{say: done}")
    serving(fleet)
    other = fleet.start("serve", "agent-worker", "--script", "script.yaml")
    other.wait_said("Answering prompts over a2a")
    worker = other.pid
    assert "agent_worker" in Path(f"/proc/{worker}/cmdline").read_text(encoding="utf-8")
    other.signal(signal.SIGTERM)
    assert other.end().status == 0
    assert '"drained"' in other.said()


def test_the_first_signal_parks_a_run_and_the_next_fleet_knows_it(fleet: Agent) -> None:
    fleet.script(_WAIT, "{say: done}")
    running = serving(fleet)
    asking = _Asking(fleet)
    until("the command runs", lambda: fleet.application.count("wait") == 1)
    running.signal(signal.SIGINT)
    running.wait_said("draining: no new work is taken and running work stops where it can resume.")
    fleet.gate_file.touch()
    assert running.end().status == 0
    assert asking.code() == "suspended"
    serving(fleet)
    assert "suspended" in fleet.run("session", "ls", "--config", "agent.yaml").out


def test_the_second_signal_stops_what_runs(fleet: Agent) -> None:
    fleet.script(_WAIT, "{say: done}")
    running = serving(fleet)
    asking = _Asking(fleet)
    until("the command runs", lambda: fleet.application.count("wait") == 1)
    command = fleet.application.calls()[0].pid
    running.signal(signal.SIGTERM)
    running.wait_said("draining: no new work is taken and")
    running.signal(signal.SIGTERM)
    assert running.end().status == 0
    assert "stopping now" in running.said()
    assert asking.code() in ("canceled", "suspended")
    assert not alive(command)


def test_a_drain_that_takes_too_long_counts_as_the_second_signal(fleet: Agent) -> None:
    fleet.script(_WAIT, "{say: done}")
    running = serving(fleet, FISK_AI_DRAIN_TIMEOUT="100ms")
    asking = _Asking(fleet)
    until("the command runs", lambda: fleet.application.count("wait") == 1)
    running.signal(signal.SIGTERM)
    assert running.end().status == 0
    assert "the drain took too long" in running.said()
    assert asking.code() in ("canceled", "suspended")


@pytest.mark.parametrize(
    ("process", "told"),
    [
        ("agent_worker", "agent-worker ended by itself (SIGKILL)"),
        ("nats-server", "the broker ended by itself"),
    ],
)
def test_a_fleet_that_loses_a_process_ends_the_others_and_fails(
    fleet: Agent, process: str, told: str
) -> None:
    running = serving(fleet)
    everyone = list(children(running.pid))
    os.kill(running.child(process), signal.SIGKILL)
    done = running.end()
    assert done.status == 1
    assert told in done.err
    assert "Traceback" not in done.err
    assert not any(alive(pid) for pid in everyone)


def test_a_supervisor_that_is_killed_leaves_no_process(fleet: Agent, reaped: list[int]) -> None:
    fleet.script(_WAIT, "{say: done}")
    running = serving(fleet)
    _Asking(fleet)
    until("the command runs", lambda: fleet.application.count("wait") == 1)
    reaped += [*children(running.pid), fleet.application.calls()[0].pid]
    running.signal(signal.SIGKILL)
    running.process.wait()
    for pid in reaped:
        until(f"process {pid} is gone", lambda pid=pid: not alive(pid))
    serving(fleet)  # its store is free, and what was recorded is there
    left = sorted(path.name for path in context(fleet).resolve().parent.iterdir())
    assert [name.partition("-")[0] for name in left] == ["broker", "context.json", "js"]


def test_a_signal_during_the_start_leaves_nothing(fleet: Agent) -> None:
    running = fleet.start("serve", "--embedded-broker", "--script", "script.yaml")
    worker = running.child("agent_worker")
    running.signal(signal.SIGTERM)
    done = running.end()
    assert done.status in (0, 1)  # it may have served already
    assert "Traceback" not in done.err
    assert not alive(worker)


def test_a_fleet_whose_sessions_are_files_needs_no_stream(agent: Agent) -> None:
    agent.extend(PROMPTS)
    serving(agent)
    assert ask(agent, name="fisk-ai-cow") == "It says Moo."
    assert len(list(agent.sessions.glob("*.json*"))) >= 1


def test_the_banner_has_a_record_for_each_section(fleet: Agent) -> None:
    running = serving(fleet, "--work-dir", str(fleet.home))
    running.signal(signal.SIGTERM)
    records = events(running.end())
    head = next(each for each in records if str(each["event"]).startswith("Serving cow/"))
    assert "a2a/prompts" in cast("list[str]", head["endpoints"])
    assert head["sessions"] == "jetstream (RUNS)"
    assert head["tool_directory"] == str(fleet.home)
    assert head["service"] == "agent-worker"
    section = next(each for each in records if each["event"] == "Answering prompts over a2a")
    assert section["requests"] == "choria.fisk-ai.task.cow"
    assert section["workers"] == 2


def test_logs_hold_no_content_and_no_secret_and_say_whose_run_it_is(
    fleet: Agent, serve: Callable[..., str]
) -> None:
    said, thought, argued, answered = (f"{word}-4711-{'x' * 30}" for word in "pqrs")
    key = "sk-ant-4711"
    url = serve(
        {
            "content": [
                {"type": "text", "text": thought},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "say",
                    "input": {"message": f"the long {argued} of it all"},
                },
            ],
            "stop_reason": "tool_use",
        },
        {"content": [{"type": "text", "text": answered}]},
    )
    environ = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": url}
    running = serving(fleet, "--verbose", script=False, **environ)
    assert ask(fleet, f"{said} {key}") == answered
    running.signal(signal.SIGTERM)
    done = running.end()
    for content in (said, thought, argued, answered, key, "4711"):
        assert content not in done.err
    of_run = [each for each in events(done) if each.get("channel") == "a2a/prompts"]
    assert {"run starts", "model call", "tool call"} <= {str(each["event"]) for each in of_run}
    for record in of_run:
        assert str(record["session"]).startswith("t-")
        assert record["request"]
        assert record["caller"] == "peer"
    assert len({(record["session"], record["request"]) for record in of_run}) == 1


def test_a_person_reads_lines_with_the_name_of_their_service(fleet: Agent) -> None:
    running = serving(fleet, FISK_AI_LOG_FORMAT="text")
    running.wait_said("agent-worker | Answering prompts over a2a:")
    assert "agent-worker | Serving cow/" in running.said()
    assert "{" not in running.said()


REFUSALS = {
    "no endpoint": (
        "",
        ("--embedded-broker",),
        'fisk-ai serve needs an endpoint to run, and "agent.yaml" enables none',
    ),
    "no broker": (PROMPTS, (), "nats_context is required when expose.agent.a2a.prompts is set"),
    "a service that is none": (PROMPTS, ("cow",), 'there is no service "cow"; name one of agent-'),
    "a gateway": (PROMPTS, ("slack-gateway",), "slack-gateway, which is not built yet"),
    "a broker for one": (PROMPTS, ("agent-worker", "--embedded-broker"), "is the supervisor's"),
    "a relative directory": (
        PROMPTS,
        ("--embedded-broker", "--work-dir", "here", "--script", "script.yaml"),
        'work directory "here" is not an absolute path',
    ),
    "no directory": (
        PROMPTS,
        ("--embedded-broker", "--work-dir", "/none", "--script", "script.yaml"),
        'work directory "/none" is not a directory',
    ),
    "no key": (PROMPTS, ("--embedded-broker",), "the model needs a key: set ANTHROPIC_API_KEY"),
    "no jobs at once": (PROMPTS, ("--workers", "0"), "--workers takes a whole number from 1 on"),
    "an address": (PROMPTS, ("--base-url", "ftp://x"), "must start with http:// or https://"),
}


@pytest.mark.parametrize(("file", "words", "sentence"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_served_is_refused_in_words(
    agent: Agent, file: str, words: tuple[str, ...], sentence: str
) -> None:
    agent.extend(file)
    done = agent.run("serve", *words)
    assert done.status == 1
    assert done.out == ""
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_a_file_without_an_endpoint_is_told_what_one_looks_like(agent: Agent) -> None:
    done = agent.run("serve")
    examples = done.err.partition("\n\n")[2].strip().splitlines()
    assert examples[:3] == ["expose:", "  agent:", "    a2a:"]
    assert any(line.startswith("    jobs: {}") for line in examples)
    alone = agent.run("serve", "agent-worker", environ={"FISK_AI_NATS_URL": "nats://127.0.0.1:9"})
    assert alone.status == 1
    assert alone.err.startswith("agent_worker: error: fisk-ai serve needs an endpoint to run")


def test_an_identity_that_nobody_chose_is_not_served(agent: Agent) -> None:
    text = (agent.home / "agent.yaml").read_text(encoding="utf-8")
    agent.configure(text.replace("identity: cow\n", "") + PROMPTS)
    done = agent.run("serve", "--embedded-broker")
    assert done.status == 1
    assert "identity is required when expose.agent.a2a.prompts is set" in done.err
