"""A private broker that hangs: whoever wants to leave can, and a run does not wait for ever."""

from __future__ import annotations

import os
import signal
import time

import pytest

from fisk_ai.testing.command import Agent, Running, alive, children, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_WAIT = "{call: [{tool: wait, input: {}}]}"


def _hung(agent: Agent) -> Running:
    """Start a run, and stop its broker while a command runs."""
    agent.script(_WAIT, "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "go")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    running.wait_said("-> wait()")
    os.kill(running.child("nats-server"), signal.SIGSTOP)
    return running


def test_the_second_interrupt_leaves_at_once_although_the_broker_hangs(agent: Agent) -> None:
    running = _hung(agent)
    everyone = list(children(running.pid))
    running.signal(signal.SIGINT)
    running.wait_said("asked the run to stop")
    began = time.monotonic()
    running.signal(signal.SIGINT)
    left = running.end()
    assert time.monotonic() - began < 5
    assert left.status == 1
    assert left.err.splitlines()[-1] == "fisk-ai: error: interrupted"
    assert "Traceback" not in left.err
    assert "never retrieved" not in left.err
    assert not any(alive(pid) for pid in everyone)


def test_a_run_whose_broker_hangs_ends_by_its_name_and_a_resume_finishes(agent: Agent) -> None:
    running = _hung(agent)
    running.wait_said("resume with: ")
    agent.gate_file.touch()
    ended = running.end()
    assert ended.status == 1
    assert ended.err.splitlines()[-1].endswith("the broker of this run answered nothing for 15 s")
    done = agent.rehearse("--resume", session_of(ended.err))
    assert done.out == "done\n"
    assert agent.application.count("wait") == 1
