"""``fisk-ai run`` as a person meets it: a process with two streams and an exit code."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent, session_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_CALL = 'call: [{tool: say, input: {message: "Moo"}}]'
_USAGE = "usage: {input: 120, output: 15}"


def test_standard_output_is_the_answer_and_nothing_else(agent: Agent) -> None:
    agent.script(
        f'{{think: hm, say: "Let me see.", {_CALL}, {_USAGE}}}',
        f'{{say: "It says **Moo**.", {_USAGE}}}',
    )
    done = agent.rehearse("tell", "me", "--thinking", "--tool-output")
    assert done.status == 0
    assert done.out == "It says **Moo**.\n"
    warning, *lines = done.err.splitlines()
    assert warning.startswith("warning from agent cow: 1 tool needs a person's approval")
    assert lines[:7] == [
        "",
        "[thinking]",
        "hm",
        "Let me see.",
        '-> say(message:"Moo")',
        "<-",
        "say -- Moo",
    ]
    assert lines[8] == "270 of 500000 tokens (240 in / 30 out)"
    assert re.fullmatch(
        r"Run summary: session=t-\w{64} model=small llm_calls=2 tool_calls=1 tokens=240/30 "
        r"thinking=0 latency=\d+\.\d{3}s",
        lines[9],
    )
    assert len(lines) == 10
    assert agent.application.count("say") == 1


def test_an_agent_that_has_nothing_to_say_is_told_of_and_is_no_failure(agent: Agent) -> None:
    agent.script('{say: " "}')
    done = agent.rehearse("go")
    assert (done.status, done.out.strip()) == (0, "")
    assert "the agent finished and had nothing to say" in done.err.splitlines()


def test_reasoning_and_results_stay_hidden_unless_asked_for(agent: Agent) -> None:
    agent.script(f"{{think: hm, {_CALL}}}", "{say: done}")
    done = agent.rehearse("go")
    assert done.out == "done\n"
    assert "[thinking]" not in done.err
    assert "<-" not in done.err


def test_a_failing_command_is_an_answer_for_the_model_not_an_error(agent: Agent) -> None:
    agent.script("{call: [{tool: fail, input: {}}]}", "{say: It failed.}")
    done = agent.rehearse("go", "--tool-output")
    assert done.status == 0
    assert "(exit 3) no luck" in done.err


def test_a_script_that_runs_out_fails_by_name(agent: Agent) -> None:
    agent.script(f"{{{_CALL}}}")
    done = agent.rehearse("go")
    assert done.status == 1
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("fisk-ai: error: ")
    assert "script.yaml" in last


def test_hostile_text_of_a_model_reaches_no_terminal(agent: Agent) -> None:
    agent.script(
        r'{say: "a\x1b[2Jb\u202ec", call: [{tool: say, input: {message: "\x1b]0;t\x07x"}}]}',
        r'{say: "d\x1b[31me"}',
    )
    done = agent.rehearse("go", "--tool-output")
    assert done.out == "de\n"
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err


def test_nothing_is_left_behind(agent: Agent) -> None:
    agent.rehearse("go")
    assert list((agent.home / "tmp").iterdir()) == []


def test_the_key_never_is_an_argument_of_a_process(agent: Agent) -> None:
    agent.script("{call: [{tool: wait, input: {}}]}", "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "--api-key", "sk-secret", "go")
    worker = running.child("agent_worker")
    running.wait_said("-> wait()")
    line = Path(f"/proc/{worker}/cmdline").read_bytes()
    assert b"agent_worker" in line
    assert b"sk-secret" not in line
    assert b"nats://" not in line
    agent.gate_file.touch()
    assert running.end().status == 0


def test_the_wire_dump_is_private_and_holds_the_conversation(agent: Agent) -> None:
    done = agent.rehearse("go", "--a2a-debug")
    assert done.status == 0
    assert "Dumping a2a messages to a2a-debug.log" in done.err
    dump = agent.home / "a2a-debug.log"
    assert stat.S_IMODE(dump.stat().st_mode) == 0o600
    text = dump.read_text(encoding="utf-8")
    assert " > choria.fisk-ai.task.cow " in text
    assert " < choria.fisk-ai.task.cow " in text


def test_the_agents_log_is_shown_only_on_request(agent: Agent) -> None:
    assert "serving" not in agent.rehearse("go").err
    agent.script("say: done")
    assert "serving" in agent.rehearse("go", "--verbose").err


def test_a_run_that_ends_well_logs_no_warning(agent: Agent) -> None:
    said = agent.rehearse("go", "--verbose").err
    assert said.count("draining") == 1
    assert not [line for line in said.splitlines() if "[warn" in line and "[agent_worker]" in line]


def test_a_gated_command_is_denied_in_words_where_nobody_can_be_asked(agent: Agent) -> None:
    agent.script("{call: [{tool: wipe, input: {}}]}", '{when: "denied|operator", say: "Not done."}')
    done = agent.rehearse("wipe it", "--tool-output")
    assert done.status == 0
    assert done.out == "Not done.\n"
    assert agent.application.count("wipe") == 0


def test_a_session_can_be_listed_shown_and_removed_afterwards(agent: Agent) -> None:
    session = session_of(agent.rehearse("say", "moo").err)
    listed = agent.run("session", "ls")
    assert session in listed.out
    assert " completed " in listed.out
    shown = agent.run("session", "show", session)
    assert f"Session {session}:" in shown.out
    assert "LLM calls: 1" in shown.out
    assert agent.run("session", "rm", session).out == f"Removed session {session}\n"
    assert agent.run("session", "ls").out.startswith("No checkpointed sessions")


def test_info_shows_the_tools_and_contacts_no_model(agent: Agent) -> None:
    done = agent.run("info")
    assert done.status == 0
    headings = ("Model:", "Sessions:", "PII scanning:", "Tools:", "Prompt:")
    assert [line for line in done.out.splitlines() if line in headings] == list(headings)
    cells = [line.split("│") for line in done.out.splitlines() if line.startswith("│")]
    assert {row[1].strip(): row[3].strip() for row in cells[1:]} == {
        "say": "",
        "wait": "",
        "wipe": "Yes",
        "env": "",
        "fail": "",
    }
    assert agent.application.calls() == []


def _unread() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


def _full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.parametrize(
    ("place", "reason"), [(_unread, "Broken pipe"), (_full, "No space left on device")]
)
def test_an_answer_that_nobody_reads_is_no_success_and_no_traceback(
    agent: Agent, place: Callable[[], int], reason: str
) -> None:
    write = place()
    running = agent.start("run", "--script", "script.yaml", "go", stdout=write)
    os.close(write)
    done = running.end()
    assert done.status == 1
    session = next(agent.sessions.glob("t-*")).stem
    *_, last = done.err.splitlines()
    assert last.startswith(
        f"fisk-ai: error: the answer could not be written ({reason}); it is kept: "
        f"cd {agent.home} && fisk-ai run --resume {session} "
    )
    assert "Traceback" not in done.err
    assert agent.rehearse("--resume", session).out == "It says Moo.\n"
    assert list((agent.home / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("key", "low", "high"), [("max_iterations", 1, 2), ("max_tokens", 100, 1000)]
)
def test_a_turn_that_spent_a_bound_goes_on_once_the_key_it_names_is_raised(
    agent: Agent, key: str, low: int, high: int
) -> None:
    agent.script(f"{{{_CALL}, {_USAGE}}}", "{say: done}")
    _bound(agent, key, low)
    stopped = agent.rehearse("go")
    assert f"llm.budget.{key}" in stopped.err.splitlines()[-1]
    assert "\nresume with: " in stopped.err
    _bound(agent, key, high)
    resumed = agent.rehearse("--resume", session_of(stopped.err))
    assert (resumed.status, resumed.out) == (0, "done\n")


def _bound(agent: Agent, key: str, bound: int) -> None:
    agent.configure()
    text = (agent.home / "agent.yaml").read_text(encoding="utf-8")
    agent.configure(text.replace("small}", f"small, budget: {{{key}: {bound}}}}}"))
