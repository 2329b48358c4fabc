"""Interrupts and deaths: what a person is told, what is left, and that the work goes on."""

from __future__ import annotations

import os
import signal

import pytest

from fisk_ai.testing.command import Agent, Running, alive, children, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_WAIT = "{call: [{tool: wait, input: {}}]}"
_KILLED = "fisk-ai: error: the agent did not finish: its process was killed (SIGKILL)"
_SAY = '{call: [{tool: say, input: {message: "Moo"}}]}'


def _waiting(agent: Agent, *turns: str) -> Running:
    """Start a run and return it once its command is being run."""
    agent.script(_WAIT, *turns)
    running = agent.start("run", "--script", "script.yaml", "go")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    running.wait_said("-> wait()")
    return running


def _resume(agent: Agent, text: str) -> tuple[int, str, str]:
    done = agent.rehearse("--resume", session_of(text))
    return done.status, done.out, done.err


@pytest.mark.parametrize(
    "fault",
    [
        "journal.append.synced:assistant=kill",
        "journal.append.synced:tool_result=kill",
        "model.before#2=kill",
        "model.after#2=kill",
    ],
)
def test_a_worker_that_is_killed_is_told_at_once_and_a_resume_finishes(
    agent: Agent, fault: str
) -> None:
    agent.script(_SAY, "{say: It says Moo.}")
    died = agent.rehearse("go", environ={"FISK_AI_FAULT": fault})
    assert died.status == 1
    assert died.out == ""
    assert died.err.splitlines()[-1] == _KILLED
    assert "bug" not in died.err
    status, out, err = _resume(agent, died.err)
    assert (status, out) == (0, "It says Moo.\n")
    assert "--- resuming ---" in err
    assert agent.application.count("say") == 1


def test_a_worker_killed_while_a_command_runs_is_noticed_by_its_process(agent: Agent) -> None:
    running = _waiting(agent, "{say: done}")
    os.kill(running.child("agent_worker"), signal.SIGKILL)
    done = running.end()
    assert done.status == 1
    assert done.err.splitlines()[-1] == _KILLED
    assert f"&& fisk-ai run --resume {session_of(done.err)}" in done.err


def test_a_broker_that_is_killed_ends_the_run_and_a_resume_finishes(agent: Agent) -> None:
    running = _waiting(agent, "{say: done}")
    os.kill(running.child("nats-server"), signal.SIGKILL)
    running.wait_said("resume with: ")
    agent.gate_file.touch()
    lost = running.end()
    assert lost.status == 1
    assert lost.err.splitlines()[-1] == (
        "fisk-ai: error: the agent stopped answering, so the work may be incomplete: the broker "
        "ended in the middle of the run"
    )
    _, out, _ = _resume(agent, lost.err)  # the worker may have finished before it was told to park
    assert out == "done\n"
    assert agent.application.count("wait") == 1


_KILLS_ITS_BROKER = """\
import os
import signal
import sys

from fisk_ai.testing.command import child_of
import agent_worker

if __name__ == "__main__":
    os.kill(child_of(os.getppid(), "nats-server"), signal.SIGKILL)
    sys.exit(agent_worker.serve())
"""


def test_a_broker_that_is_killed_during_the_start_is_told_as_the_cause(agent: Agent) -> None:
    (agent.home / "worker.py").write_text(_KILLS_ITS_BROKER, encoding="utf-8")
    done = agent.rehearse("go", "--worker", "worker.py")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "fisk-ai: error: the broker of this run ended while the agent started (SIGKILL); "
        "start it again\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_parks_the_run_and_a_resume_finishes(
    agent: Agent, number: signal.Signals
) -> None:
    running = _waiting(agent, "{say: done}")
    running.signal(number)
    running.wait_said("asked the run to stop at its next boundary; a second signal leaves it")
    agent.gate_file.touch()
    parked = running.end()
    assert parked.status == 0
    assert parked.out == ""
    assert "the run stopped where it can be resumed" in parked.err
    assert "Run suspended: " in parked.err
    assert "suspended" in agent.run("session", "ls").out
    status, out, _ = _resume(agent, parked.err)
    assert (status, out) == (0, "done\n")
    assert agent.application.count("wait") == 1


def test_the_second_interrupt_leaves_and_takes_everything_along(agent: Agent) -> None:
    running = _waiting(agent, "{say: done}")
    everyone = list(children(running.pid))
    assert len(everyone) == 2
    running.signal(signal.SIGINT)
    running.wait_said("asked the run to stop")
    running.signal(signal.SIGINT)
    left = running.end()
    assert left.status == 1
    assert left.err.splitlines()[-1] == "fisk-ai: error: interrupted"
    assert "resume with: " in left.err
    assert not any(alive(pid) for pid in everyone)
    command = agent.application.calls()[0].pid
    until("the command is gone", lambda: not alive(command))
    assert list((agent.home / "tmp").iterdir()) == []


def test_an_interrupt_during_the_start_leaves_at_once(agent: Agent) -> None:
    running = agent.start("run", "--script", "script.yaml", "go")
    worker = running.child("agent_worker")
    running.signal(signal.SIGINT)
    done = running.end()
    assert done.status in (0, 1)  # the worker may have been ready already
    assert "Traceback" not in done.err
    assert not alive(worker)


def test_a_terminal_that_is_killed_leaves_no_process_and_no_file(agent: Agent) -> None:
    running = _waiting(agent, "{say: done}")
    everyone = list(children(running.pid))
    running.signal(signal.SIGKILL)
    assert running.process.wait() == -signal.SIGKILL
    command = agent.application.calls()[0].pid
    for pid in (*everyone, command):
        until(f"process {pid} is gone", lambda pid=pid: not alive(pid))
    assert list((agent.home / "tmp").iterdir()) == []


def test_a_conversation_is_resumed_by_its_token_as_well(agent: Agent) -> None:
    agent.script(_SAY, "{say: It says Moo.}")
    died = agent.rehearse("go", environ={"FISK_AI_FAULT": "model.before#2=kill"})
    shown = agent.run("session", "show", session_of(died.err)).out
    token = shown.split("Conversation token: ", 1)[1].split()[0]
    done = agent.rehearse("--resume", token)
    assert (done.status, done.out) == (0, "It says Moo.\n")
    assert session_of(done.err) == session_of(died.err)


def test_a_finished_session_is_refused_by_name_with_its_answer_and_runs_nothing(
    agent: Agent,
) -> None:
    agent.script(_SAY, "{say: It says Moo.}", _SAY)
    session = session_of(agent.rehearse("go").err)
    done = agent.rehearse("--resume", session)
    assert done.status == 1
    assert done.out == "It says Moo.\n"
    assert done.err == (
        f'fisk-ai: error: session "{session}" has already completed; this is its answer, and '
        "nothing ran\n"
    )
    assert agent.application.count("say") == 1


@pytest.mark.parametrize(
    ("handle", "reason"),
    [
        ("../x", "is neither a session id nor a conversation token"),
        ("*", "is neither a session id nor a conversation token"),
        ("a b", "is neither a session id nor a conversation token"),
        ("x" * 129, "is neither a session id nor a conversation token"),
        ("", "is neither a session id nor a conversation token"),
        ("unknown", "conversation"),
    ],
)
def test_a_handle_that_names_nothing_is_one_sentence(
    agent: Agent, handle: str, reason: str
) -> None:
    done = agent.rehearse(f"--resume={handle}")
    assert done.status == 1
    assert done.out == ""
    assert done.err.splitlines()[-1].startswith("fisk-ai: error: ")
    assert reason in done.err
    assert "Traceback" not in done.err


def test_a_token_that_looks_like_a_flag_is_data(agent: Agent) -> None:
    done = agent.rehearse("--resume=-x")
    assert done.status == 1
    assert "no conversation by that name" in done.err


def test_a_session_that_is_removed_ends_the_run_and_is_not_offered_again(agent: Agent) -> None:
    running = _waiting(agent, "{say: done}")
    for path in agent.sessions.iterdir():
        path.unlink()
    agent.gate_file.touch()
    lost = running.end()
    assert (lost.status, lost.out) == (1, "")
    assert "was removed or replaced while it ran" in lost.err.splitlines()[-1]
    assert "resume with: " not in lost.err
    assert list(agent.sessions.glob("*.json")) == []
