"""An agent to run the installed command with, and a model's API for it to ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent, Terminal, session_of, until


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent in a home of its own; nothing it started outlives the test."""
    made = Agent.make(tmp_path / "home")
    yield made
    made.close()


@pytest.fixture
def asking(agent: Agent) -> Agent:
    """An agent that may ask questions of its own."""
    agent.extend("harness: {human_in_the_loop: {enabled: true}}\n")
    return agent


@pytest.fixture
def parked(agent: Agent) -> str:
    """A session whose worker was told to end, twice, while it asked about a gated call."""
    agent.script("{call: [{tool: wipe, input: {}}]}", "{say: Done.}")
    terminal = Terminal(agent, "run", "--script", "script.yaml", "--no-tui", "wipe it")
    terminal.wait_shown("answer [1]: ")
    worker = terminal.child("agent_worker")

    def told() -> bool:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGTERM)
        return terminal.process.poll() is not None

    until("the run parks", told)
    return session_of(terminal.end().err)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start an API that gives these answers and logs to ``requests``; return its address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(*answers: Mapping[str, object]) -> str:
        port, log, listed = (tmp_path / name for name in ("port", "requests", "answers"))
        listed.write_text(json.dumps(answers), encoding="utf-8")
        processes.append(
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "fisk_ai.testing.messages_endpoint"),
                    *("--port-file", str(port), "--log", str(log), "--answers", str(listed)),
                ],
                stdout=subprocess.DEVNULL,
            )
        )
        until("the endpoint listens", lambda: port.exists() and bool(port.read_text()))
        return port.read_text(encoding="utf-8").strip()

    yield start
    for process in processes:
        process.kill()
        process.wait()
