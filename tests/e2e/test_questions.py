"""Questions of the agent itself, asked at a real terminal and answered there or later."""

from __future__ import annotations

import json
import signal

import pytest

from fisk_ai.testing.command import Agent, Terminal, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

_CONFIRM = "{call: [{tool: ask_human_confirm, input: {question: 'Sure?'}}]}"
_SELECT = "{call: [{tool: ask_human_select, input: {question: 'Which?', options: [red, blue]}}]}"
_INPUT = "{call: [{tool: ask_human_input, input: {question: 'Name?', default: cow}}]}"


def _run(agent: Agent, *turns: str) -> Terminal:
    agent.script(*turns)
    return Terminal(agent, "run", "--script", "script.yaml", "--tool-output", "go")


def test_each_kind_of_question_is_asked_and_answered(asking: Agent) -> None:
    terminal = _run(asking, _CONFIRM, _SELECT, _INPUT, "{say: Done.}")
    terminal.wait_shown("the agent asks:\n  Sure?\n  1) No\n  2) Yes\nanswer [1]: ")
    terminal.type("2\n")
    terminal.wait_shown("the agent asks:\n  Which?\n  1) red\n  2) blue\nanswer: ")
    terminal.type("9\n")
    terminal.wait_shown("type a number from 1 to 2, or an option's text\nanswer: ")
    terminal.type("2\n")
    terminal.wait_shown("the agent asks:\n  Name? [cow]\n> ")
    terminal.type("Grüße\n")
    done = terminal.end()
    assert (done.status, done.out) == (0, "Done.\n")
    for answer in ('{"confirmed":true}', '{"selected":"blue"}', '{"value":"Grüße"}'):
        assert f"<-\n{answer}\n" in done.err


def test_what_was_left_open_is_answered_by_another_command_and_resumed(asking: Agent) -> None:
    terminal = _run(asking, _SELECT, "{when: blue, say: 'Blue it is.'}")
    terminal.wait_shown("answer: ")
    terminal.process.send_signal(signal.SIGTERM)
    parked = terminal.end()
    assert parked.status == 0
    session = session_of(parked.err)
    assert f"fisk-ai session answer {session} --config " in parked.err
    assert "answer with --select: " in parked.err
    pending = asking.run("session", "pending", "--json")
    assert json.loads(pending.out)
    answered = asking.run("session", "answer", session, "--select", "blue")
    assert answered.status == 0, answered.err
    resumed = asking.rehearse("--resume", session)
    assert (resumed.status, resumed.out) == (0, "Blue it is.\n")


@pytest.mark.parametrize("behind", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_question_is_kept_whatever_follows_a_hang_up_until_the_command_has_ended(
    asking: Agent, behind: signal.Signals
) -> None:
    terminal = _run(asking, _SELECT, "{say: Done.}")
    terminal.wait_shown("answer: ")
    (session,) = (path.stem for path in asking.sessions.glob("*.json"))
    terminal.process.send_signal(signal.SIGHUP)

    def ends() -> bool:
        terminal.process.send_signal(behind)
        return terminal.process.poll() is not None

    until("the command ends", ends)
    assert terminal.end().status == 1
    assert session in asking.run("session", "pending").out
    (row,) = (line for line in asking.run("session", "ls").out.splitlines() if session in line)
    assert " suspended " in row


def test_where_nobody_can_be_asked_the_agent_is_told_and_a_person_warned(asking: Agent) -> None:
    asking.script(_CONFIRM, "{when: terminal, say: Not asked.}")
    done = asking.rehearse("go")
    assert (done.status, done.out) == (0, "Not asked.\n")
    assert "the agent may ask questions, and nobody can be asked here" in done.err
