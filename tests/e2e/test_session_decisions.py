"""A run that parked at a question goes on with what was decided from another terminal."""

from __future__ import annotations

import json
import os
import signal

import pytest

from fisk_ai.testing.command import Agent, Terminal, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]


def test_an_approved_call_runs_when_the_session_is_resumed(agent: Agent, parked: str) -> None:
    pending = agent.run("session", "pending").out
    assert parked in pending
    assert " approve " in pending
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


def test_a_question_whose_terminal_is_closed_waits_and_is_answered_later(asking: Agent) -> None:
    question = '{call: [{tool: ask_human_confirm, input: {question: "Deploy?"}}]}'
    asking.script(question, "{when: 'confirmed.:true', say: Deployed.}")
    terminal = Terminal(asking, "run", "--script", "script.yaml", "deploy it")
    terminal.wait_shown("answer [1]: ")
    assert terminal.hang_up() == 1
    (row,) = json.loads(asking.run("session", "pending", "--json").out)["calls"]
    assert (row["kind"], row["question"]) == ("confirm", "Deploy?")
    shown = asking.run("session", "show", row["run_id"]).out
    assert "Deploy?" in shown
    assert f"fisk-ai session answer {row['run_id']} {row['tool_use_id']} --confirm yes|no" in shown
    answered = asking.run("session", "answer", row["run_id"], "--confirm", "yes")
    assert answered.out == "recorded\n"
    assert "--script FILE" in answered.err
    assert asking.rehearse("--resume", row["run_id"]).out == "Deployed.\n"


def test_an_approval_is_lost_where_nobody_sits_and_that_is_said(agent: Agent, parked: str) -> None:
    assert agent.run("session", "approve", parked).status == 0
    done = agent.rehearse("--resume", parked)
    assert (done.status, done.out) == (0, "Done.\n")
    assert 'the approval of "wipe" does not count' in done.err
    assert agent.application.count("wipe") == 0


def test_the_second_question_of_a_batch_is_left_to_a_resume_at_a_terminal(asking: Agent) -> None:
    asks = "{tool: ask_human_confirm, input: {question: %s}}"
    asking.script(f"{{call: [{asks % 'First?'}, {asks % 'Second?'}]}}", "{say: Done.}")
    terminal = Terminal(asking, "run", "--script", "script.yaml", "--no-tui", "deploy it")
    terminal.wait_shown("answer [1]: ")
    held = asking.run("session", "pending")
    assert held.out == "Nothing waits for an answer\n"
    assert "in another process (pid " in held.err
    assert terminal.hang_up() == 1
    calls = json.loads(asking.run("session", "pending", "--json").out)["calls"]
    first, second = sorted(calls, key=lambda call: call["question"])
    assert (first.get("unasked"), second.get("unasked")) == (None, True)
    session = first["run_id"]
    answered = asking.run("session", "answer", session, "--confirm", "yes")
    assert answered.out == "recorded\n"
    assert "still waiting: " in answered.err
    assert "Second?\n  still to be asked: resume the session at a terminal" in answered.err
    early = asking.run("session", "answer", session, second["tool_use_id"], "--confirm", "yes")
    assert (early.status, early.out) == (1, "")
    resumed = Terminal(asking, "run", "--script", "script.yaml", "--no-tui", "--resume", session)
    resumed.wait_shown("Second?\n  1) No\n  2) Yes\nanswer [1]: ")
    resumed.type("2\n")
    done = resumed.end()
    assert (done.status, done.out) == (0, "Done.\n")


@pytest.mark.parametrize("verb", [["approve"], ["deny"], ["answer", "--confirm", "yes"]])
def test_what_a_run_asks_at_one_terminal_is_not_decided_at_another(
    agent: Agent, verb: list[str]
) -> None:
    agent.script("{call: [{tool: wipe, input: {}}]}", "{say: Done.}")
    terminal = Terminal(agent, "run", "--script", "script.yaml", "--no-tui", "wipe it")
    terminal.wait_shown("answer [1]: ")
    session = next(agent.sessions.glob("t-*.json")).stem
    refused = agent.run("session", verb[0], session, *verb[1:])
    assert (refused.status, refused.out) == (1, "")
    assert f'session "{session}" is running in another process (pid ' in refused.err
    terminal.type("1\n")
    assert terminal.end().out == "Done.\n"


def test_a_call_that_was_killed_in_its_middle_is_named_with_how_to_go_on(agent: Agent) -> None:
    agent.script("{call: [{tool: wait, input: {}}]}", "{say: Done.}")
    running = agent.start("run", "--script", "script.yaml", "wait for it")
    until("the command runs", lambda: agent.application.count("wait") > 0)
    worker = running.child("agent_worker")
    os.kill(worker, signal.SIGKILL)
    session = session_of(running.end().err)
    shown = agent.run("session", "show", session).out
    assert "of it may have run already" in shown
    assert "(in doubt): wait()" in shown
    assert f"resume with: fisk-ai run --resume {session} --script FILE" in shown
    refused = agent.run("session", "approve", session)
    assert "is in doubt, for it may have run already" in refused.err


def test_a_complete_session_is_told_alike_by_its_id_and_its_token(agent: Agent) -> None:
    agent.script("{say: It says Moo.}")
    session = session_of(agent.rehearse("--verbose", "go").err)
    shown = agent.run("session", "show", session).out
    token = shown.partition("Conversation token: ")[2].split()[0]
    by_id, by_token = (agent.rehearse("--resume", name) for name in (session, token))
    assert by_id == by_token
    assert (by_token.status, by_token.out) == (1, "It says Moo.\n")
    assert "nothing ran" in by_token.err
