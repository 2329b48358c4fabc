"""Approvals at a real terminal: asked before, never after, and never assumed."""

from __future__ import annotations

import os
import signal

import pytest

from fisk_ai.testing.command import Agent, Done, Terminal, session_of, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_WIPE = "{call: [{tool: wipe, input: {}}]}"
_ASKED = "answer [1]: "


def _ask(agent: Agent, *turns: str, words: tuple[str, ...] = ("wipe it",)) -> Terminal:
    agent.script(*turns)
    terminal = Terminal(agent, "run", "--script", "script.yaml", *words)
    terminal.wait_shown(_ASKED)
    return terminal


def test_the_question_shows_the_command_before_anything_runs(agent: Agent) -> None:
    terminal = _ask(agent, _WIPE, "{say: Done.}")
    assert agent.application.count("wipe") == 0
    assert 'confirmation required: "wipe" carries tag "ai:confirm"\n-> ' in terminal.screen()
    assert "Run this command?\n  1) No, do not run it\n" in terminal.screen()
    terminal.type("2\n")
    done = terminal.end()
    assert (done.status, done.out) == (0, "Done.\n")
    assert agent.application.count("wipe") == 1


@pytest.mark.parametrize("keys", ["\n", "1\n"])
def test_no_is_the_default_and_nothing_runs(agent: Agent, keys: str) -> None:
    terminal = _ask(agent, _WIPE, "{say: Not done.}")
    terminal.type(keys)
    done = terminal.end()
    assert (done.status, done.out) == (0, "Not done.\n")
    assert agent.application.count("wipe") == 0


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_an_interrupt_or_a_closed_input_is_no_decision(agent: Agent, key: str) -> None:
    terminal = _ask(agent, _WIPE, "{say: Not done.}")
    terminal.type(key)
    done = terminal.end()
    assert (done.status, done.out) == (0, "Not done.\n")
    assert agent.application.count("wipe") == 0
    assert "asked the run to stop" not in done.err
    assert done.err.count("no decision: the command does not run now") == 1
    assert "was not run" not in done.err


def test_once_is_once(agent: Agent) -> None:
    terminal = _ask(agent, _WIPE, _WIPE, "{say: Done.}")
    terminal.type("2\n")
    terminal.wait_shown(_ASKED, times=2)
    terminal.type("1\n")
    done = terminal.end()
    assert done.status == 0
    assert agent.application.count("wipe") == 1


def test_always_is_for_the_conversation(agent: Agent) -> None:
    terminal = _ask(agent, _WIPE, _WIPE, "{say: Done.}")
    terminal.type("3\n")
    done = terminal.end()
    assert (done.status, done.out) == (0, "Done.\n")
    assert 'confirmation: will not ask again for "wipe" in this conversation' in done.err
    assert done.err.count(_ASKED) == 1
    assert agent.application.count("wipe") == 2
    assert "Approvals: wipe" in agent.run("session", "show", session_of(done.err)).out


def test_an_interrupt_after_the_question_asks_the_run_to_stop(agent: Agent) -> None:
    terminal = _ask(agent, _WIPE, "{call: [{tool: wait, input: {}}]}", "{say: Done.}")
    terminal.type("2\n")
    terminal.wait_shown("-> wait()")
    terminal.type("\x03")
    terminal.wait_shown("asked the run to stop at its next boundary; press ^C again to leave it")
    agent.gate_file.touch()
    parked = terminal.end()
    assert parked.status == 0
    assert "the run stopped where it can be resumed" in parked.err
    assert _resumed(agent, parked).out == "Done.\n"


def _resumed(agent: Agent, parked: Done) -> Done:
    return agent.rehearse("--resume", session_of(parked.err))


def test_an_answer_is_styled_on_a_terminal_and_raw_where_no_colour_is_wanted(agent: Agent) -> None:
    agent.script("{say: 'It says **Moo**.'}")
    words = ("run", "--script", "script.yaml", "--no-tui", "go")
    styled = Terminal(agent, *words, shows_output=True).end().err
    assert "\x1b[1mMoo\x1b[0m" in styled
    assert "**Moo**" not in styled
    raw = Terminal(agent, *words, "--no-color", shows_output=True).end().err
    assert "It says **Moo**.\n" in raw
    assert "\x1b" not in raw


def test_a_grant_of_an_earlier_run_counts_for_nothing_where_nobody_sits(agent: Agent) -> None:
    terminal = _ask(agent, _WIPE, "{call: [{tool: wait, input: {}}]}", _WIPE, "{say: Done.}")
    terminal.type("3\n")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    os.kill(terminal.child("agent_worker"), signal.SIGKILL)
    cut_short = terminal.end()
    agent.gate_file.touch()
    done = agent.rehearse("--resume", session_of(cut_short.err))
    assert (done.status, done.out) == (0, "Done.\n")
    assert "nobody can be asked here: such calls are denied" in done.err
    assert agent.application.count("wipe") == 1


def test_where_questions_cannot_be_seen_nobody_is_asked(agent: Agent) -> None:
    agent.script(_WIPE, "{say: Not done.}")
    kept = agent.home / "err.txt"
    words = ("run", "--script", "script.yaml", "--no-tui", "wipe it")
    done = Terminal(agent, *words, shows_output=True, errors=kept).end()
    assert done.status == 0
    assert "Not done." in done.err
    assert "nobody can be asked" in kept.read_text(encoding="utf-8")
    assert agent.application.count("wipe") == 0
