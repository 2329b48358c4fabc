"""A run that parked at a question goes on with what was decided from another terminal."""

from __future__ import annotations

import json

import pytest

from fisk_ai.testing.command import Agent, Terminal

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
