"""A run that parked at a question goes on with what was decided from another terminal."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from fisk_ai.testing.command import Agent, Terminal, children, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


@pytest.fixture
def parked(agent: Agent) -> str:
    """A session whose worker was told to end, twice, while it asked about a gated call."""
    agent.script("{call: [{tool: wipe, input: {}}]}", "{say: Done.}")
    terminal = Terminal(agent, "run", "--script", "script.yaml", "--no-tui", "wipe it")
    terminal.wait_shown("answer [1]: ")
    (worker,) = (pid for pid, line in children(terminal.process.pid).items() if "worker" in line)

    def told() -> bool:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGTERM)
        return terminal.process.poll() is not None

    until("the run parks", told)
    session = session_of(terminal.end().err)
    pending = agent.run("session", "pending")
    assert session in pending.out
    assert " approve " in pending.out
    return session


def test_an_approved_call_runs_when_the_session_is_resumed(agent: Agent, parked: str) -> None:
    decided = agent.run("session", "approve", parked, "--args")
    assert (decided.status, decided.out) == (0, "{}\nrecorded\n")
    assert agent.application.count("wipe") == 0
    terminal = Terminal(agent, "run", "--script", "script.yaml", "--no-tui", "--resume", parked)
    done = terminal.end()
    assert (done.status, done.out) == (0, "Done.\n")
    assert "Run this command?" not in done.err
    assert agent.application.count("wipe") == 1


def test_a_denied_call_never_runs(agent: Agent, parked: str) -> None:
    assert agent.run("session", "deny", parked).out == "recorded\n"
    done = agent.rehearse("--resume", parked)
    assert (done.status, done.out) == (0, "Done.\n")
    assert agent.application.count("wipe") == 0
    shown = agent.run("session", "show", "--transcript", parked).out
    assert "-> wipe() (refused)" in shown
