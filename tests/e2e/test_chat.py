"""A chat at a real terminal: a turn, a line that is typed, the next turn."""

from __future__ import annotations

import os
import signal

import pytest

from fisk_ai.sessions.listing import SUFFIX
from fisk_ai.testing.command import Agent, Terminal, session_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

_CALL = 'call: [{tool: say, input: {message: "Moo"}}]'
_WIPE = "{call: [{tool: wipe, input: {}}]}"
_WAIT = "{call: [{tool: wait, input: {}}]}"
_UP = "\x1b[A"
_PASTE = "\x1b[200~{}\x1b[201~"


def _chat(agent: Agent, *turns: str, words: tuple[str, ...] = ("go",)) -> Terminal:
    if turns:
        agent.script(*turns)
    return Terminal(agent, "run", "--script", "script.yaml", *words, shows_output=True)


def _type(terminal: Terminal, text: str, *, inputs: int = 1) -> None:
    """Type when the input line is there for so many times."""
    terminal.wait_input(inputs)
    terminal.type(text)


def _sessions(agent: Agent) -> list[str]:
    return sorted(path.stem for path in agent.sessions.glob(f"t-*{SUFFIX}"))


def _prompts(agent: Agent, session: str) -> str:
    return (agent.sessions / f"{session}{SUFFIX}").read_text(encoding="utf-8")


def test_a_person_goes_on_in_the_same_conversation(agent: Agent) -> None:
    usage = "usage: {input: 10, output: 5}"
    chat = _chat(agent, f"{{say: First., {usage}}}", f"{{say: Second., {usage}}}")
    _type(chat, "and then?\n")
    chat.wait_shown("Second.")
    _type(chat, "/exit\n", inputs=2)
    done = chat.end()
    assert done.status == 0
    (session,) = _sessions(agent)
    assert "and then?" in _prompts(agent, session)
    assert done.err.count("15 of 500000 tokens (10 in / 5 out)") == 1
    assert done.err.count("30 of 500000 tokens (20 in / 10 out)") == 1
    assert done.err.count("Run summary: ") == 1
    assert f"session={session} model=small llm_calls=2" in done.err
    assert f"&& fisk-ai run --resume {session} " in done.err


def test_without_a_prompt_the_input_opens_at_once_and_may_be_left(agent: Agent) -> None:
    chat = _chat(agent, words=())
    _type(chat, "\n")
    _type(chat, "/restart\n", inputs=2)
    chat.wait_shown("no original prompt to restart")
    _type(chat, "\x04", inputs=3)
    done = chat.end()
    assert done.status == 0
    assert _sessions(agent) == []
    assert "resume with" not in done.err
    assert "Run summary" not in done.err


def test_a_typed_prompt_is_the_first_of_its_conversation(agent: Agent) -> None:
    chat = _chat(agent, "{when: grüße, say: Moo.}", words=())
    _type(chat, "grüße\n")
    chat.wait_shown("Moo.")
    _type(chat, "\x04", inputs=2)
    assert chat.end().status == 0
    assert len(_sessions(agent)) == 1


def test_clearing_begins_a_new_conversation_and_keeps_the_old_one(agent: Agent) -> None:
    chat = _chat(agent, "{say: Hello.}")
    _type(chat, "/CLEAR  tell me more\n")
    chat.wait_shown("Hello.", times=2)
    _type(chat, "/restart\n", inputs=2)
    chat.wait_shown("Hello.", times=3)
    _type(chat, "/exit\n", inputs=3)
    done = chat.end()
    assert done.status == 0
    assert done.err.count("--- context cleared ---") == 2
    assert "restarting with the original prompt\n\n> go\n" in done.err
    first, second, third = done.err.split("--- context cleared ---")
    ids = [session_of(part.replace("\n", "")) for part in (first, second, third)]
    assert sorted(ids) == _sessions(agent)
    assert "tell me more" in _prompts(agent, ids[1])
    assert "previous conversation saved; resume with: cd " in first


def test_an_unknown_command_is_kept_for_the_person_to_mend(agent: Agent) -> None:
    chat = _chat(agent, "{say: Hello.}", "{when: '^/etc/motd', say: Done.}")
    _type(chat, "/etc/motd is what?\n")
    chat.wait_shown("unknown command: /etc/motd\n")
    chat.wait_shown("> /etc/motd is what?", times=2)
    chat.type("\x01/\n")
    chat.wait_shown("Done.")
    _type(chat, "\x04", inputs=3)
    assert chat.end().status == 0


def test_help_lists_the_commands(agent: Agent) -> None:
    chat = _chat(agent, words=())
    _type(chat, "/help\n")
    chat.wait_shown("forget the conversation")
    _type(chat, "/quit\n", inputs=2)
    done = chat.end()
    assert all(name in done.err for name in ("/clear", "/restart", "/exit", "/help", "//text"))


@pytest.mark.parametrize("pasted", [_PASTE.format("one\ntwo\n") + "\n", "one\ntwo\n"])
def test_a_paste_of_several_lines_is_one_prompt(agent: Agent, pasted: str) -> None:
    chat = _chat(agent, "{say: Hello.}", "{when: 'one\\ntwo', say: Both lines.}")
    _type(chat, pasted)
    chat.wait_shown("Both lines.")
    _type(chat, "\x04", inputs=2)
    assert chat.end().status == 0


def test_earlier_lines_can_be_recalled_and_edited(agent: Agent) -> None:
    chat = _chat(agent, "{say: Hello.}", "{say: Again.}", "{when: moose, say: Edited.}")
    _type(chat, "moo\n")
    chat.wait_shown("Again.")
    _type(chat, f"{_UP}se\n", inputs=2)
    chat.wait_shown("Edited.")
    _type(chat, "\x04", inputs=3)
    assert chat.end().status == 0


def test_an_interrupt_at_the_input_leaves_and_gives_the_terminal_back(agent: Agent) -> None:
    chat = _chat(agent, words=())
    _type(chat, "half a li")
    chat.wait_shown("half a li")
    chat.type("\x03")
    assert chat.is_restored()
    done = chat.end()
    assert done.status == 0
    assert "error" not in done.err


def test_a_signal_from_outside_leaves_with_status_1_and_the_hint(agent: Agent) -> None:
    chat = _chat(agent)
    chat.wait_input(1)
    chat.process.send_signal(signal.SIGTERM)
    done = chat.end()
    assert done.status == 1
    assert "&& fisk-ai run --resume" in done.err
    assert done.err.endswith("fisk-ai: error: interrupted\n")


def test_an_interrupt_in_a_turn_parks_it_and_a_resume_goes_on_with_both(agent: Agent) -> None:
    chat = _chat(agent, _WAIT, "{say: Hello.}", "{say: Second.}")
    chat.wait_shown("-> wait()")
    chat.type("\x03")
    chat.wait_shown("asked the run to stop at its next boundary; press ^C again to leave it")
    agent.gate_file.touch()
    parked = chat.end()
    assert parked.status == 0
    assert "the run stopped where it can be resumed" in parked.err
    assert "resume with: " in parked.err
    (session,) = _sessions(agent)
    again = _chat(agent, words=("--resume", session))
    again.wait_shown("Hello.")
    _type(again, "and?\n")
    again.wait_shown("Second.")
    _type(again, "\x04", inputs=2)
    resumed = again.end()
    assert resumed.status == 0
    assert "--- resuming ---\n\n> go\n-> wait()\n\n--- continuing ---\n" in resumed.err
    assert _sessions(agent) == [session]


def test_a_finished_conversation_is_shown_and_goes_on_with_what_is_typed(agent: Agent) -> None:
    agent.script("{say: First.}", "{say: Second.}")
    assert agent.rehearse("go").status == 0
    (session,) = _sessions(agent)
    chat = _chat(agent, words=("--resume", session))
    _type(chat, "and?\n")
    chat.wait_shown("Second.")
    _type(chat, "\x04", inputs=2)
    done = chat.end()
    assert done.status == 0
    assert "--- resuming ---\n\n> go\nFirst.\n\n--- continuing ---\n" in done.err
    assert "Run summary: session=" in done.err


@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_one_turn_is_all_where_no_more_is_wanted(agent: Agent, way: str) -> None:
    words: tuple[str, ...] = ("go",)
    if way == "flag":
        words = ("--no-tui", "go")
    elif way == "variable":
        agent.environ["NO_TUI"] = "1"
    else:
        agent.extend("harness: {no_tui: true}\n")
    done = _chat(agent, words=words).end()
    assert done.status == 0
    assert "It says Moo." in done.err
    assert "> " not in done.err
    refused = _chat(agent, words=words[:-1]).end()
    assert refused.status == 1
    assert "error: no prompt: give one as an argument, or --resume" in refused.err


def test_a_worker_that_dies_between_two_turns_ends_the_chat(agent: Agent) -> None:
    chat = _chat(agent)
    chat.wait_input(1)
    os.kill(chat.child("agent_worker"), signal.SIGKILL)
    assert chat.is_restored()
    done = chat.end()
    assert done.status == 1
    assert "&& fisk-ai run --resume" in done.err
    last = done.err.splitlines()[-1]
    assert last == "fisk-ai: error: the agent did not finish: its process was killed (SIGKILL)"


def test_a_turn_that_fails_is_said_with_its_prompt_and_the_chat_goes_on(agent: Agent) -> None:
    chat = _chat(agent, "{say: Hello.}")
    _type(chat, "more\n")
    chat.wait_shown("script.yaml")
    chat.wait_shown("your prompt is kept: the model reads it together with the next one")
    _type(chat, "/exit\n", inputs=2)
    done = chat.end()
    assert done.status == 0
    assert "fisk-ai: error" not in done.err
    assert done.err.count("Run summary: ") == 1


def test_a_grant_holds_for_the_turns_of_its_conversation_and_no_longer(agent: Agent) -> None:
    asked = "answer [1]: "
    chat = _chat(agent, _WIPE, "{say: Wiped once.}", _WIPE, "{say: Wiped twice.}")
    chat.wait_shown(asked)
    chat.type("3\n")
    chat.wait_shown("Wiped once.")
    _type(chat, "again\n")
    chat.wait_shown("Wiped twice.")
    assert chat.screen().count(asked) == 1
    _type(chat, "/clear wipe\n", inputs=2)
    chat.wait_shown(asked, times=2)
    chat.type("\n")
    _type(chat, "\x04", inputs=3)
    assert chat.end().status == 0
    assert agent.application.count("wipe") == 2


def test_a_changed_configuration_is_refused_before_a_chat_asks_for_a_prompt(agent: Agent) -> None:
    assert agent.rehearse("go").status == 0
    (session,) = _sessions(agent)
    base = (agent.home / "agent.yaml").read_text(encoding="utf-8")
    agent.configure(base.replace("You are a cow.", "You are a moose."))
    refused = _chat(agent, words=("--resume", session)).end()
    assert refused.status == 1
    assert "system prompt: changed" in refused.err
    assert "--force" in refused.err
    assert "> " not in refused.err
    chat = _chat(agent, words=("--resume", session, "--force"))
    _type(chat, "\x04")
    assert chat.end().status == 0


def test_a_session_removed_under_a_chat_is_said_and_its_prompt_is_not_lost(agent: Agent) -> None:
    chat = _chat(agent, "{say: Hello.}", "{say: Second.}")
    chat.wait_input(1)
    (session,) = _sessions(agent)
    assert agent.run("session", "rm", session).status == 0
    chat.type("are you there?\n")
    done = chat.end()
    assert done.status == 1
    assert "your prompt was not taken: are you there?" in done.err
    assert "error: the session of this chat was removed; begin a new one\n" in done.err


@pytest.mark.parametrize(("keys", "times"), [("too early\n", 1), ("\n\n", 0), ("half", 0)])
def test_a_prompt_entered_while_the_agent_works_is_said_to_be_not_sent(
    agent: Agent, keys: str, times: int
) -> None:
    chat = _chat(agent, _WAIT, "{say: First.}")
    chat.wait_shown("-> wait()")
    chat.type(keys)
    chat.wait_shown(keys)
    agent.gate_file.touch()
    _type(chat, "/exit\n")
    done = chat.end()
    assert done.status == 0
    assert done.err.count("(not sent: what was entered before this line opened)") == times
    (session,) = _sessions(agent)
    assert "too early" not in _prompts(agent, session)
