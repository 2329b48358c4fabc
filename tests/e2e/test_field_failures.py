"""Situations in which programs of this kind lose work, repeat it, hang or lie, by the command."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.command import (
    Agent,
    Done,
    Running,
    Terminal,
    alive,
    children,
    session_of,
    until,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SAY = '{call: [{tool: say, input: {message: "Moo"}}]}'
WAIT = "{call: [{tool: wait, input: {}}]}"
SPENT = "usage: {input: 200, output: 1}"
FLOOD_BYTES = 10_000_000
GROWTH_LIMIT_KB = 6_000
"""What a worker may grow by over the output: less than any copy of it would need."""


def killed(agent: Agent, fault: str) -> str:
    """Run the script until its worker is killed at ``fault``, and return the session."""
    died = agent.rehearse("go", environ={"FISK_AI_FAULT": f"{fault}=kill"})
    assert died.status == 1
    return session_of(died.err)


def journal(agent: Agent, session: str) -> Path:
    return agent.sessions / f"{session}.json"


def last_line(done: Done) -> str:
    return done.err.splitlines()[-1]


# One session, several terminals.


def test_of_two_terminals_that_resume_a_session_at_once_one_runs_it(agent: Agent) -> None:
    agent.script(SAY, WAIT, "{say: done}")
    session = killed(agent, "tool.before:wait")
    first, second = (
        agent.start("run", "--script", "script.yaml", "--resume", session) for _ in range(2)
    )
    until(
        "one of them is refused",
        lambda: first.process.poll() is not None or second.process.poll() is not None,
    )
    loser, winner = (first, second) if first.process.poll() is not None else (second, first)
    refused = loser.end()
    assert (refused.status, refused.out) == (1, "")
    assert "another run holds this conversation" in last_line(refused)
    until("the other one runs the command", lambda: agent.application.count("wait") == 1)
    agent.gate_file.touch()
    done = winner.end()
    assert (done.status, done.out) == (0, "done\n")
    assert agent.application.count("wait") == 1
    assert agent.application.count("say") == 1


def test_what_a_death_left_is_shown_as_open_and_hinders_no_new_work(agent: Agent) -> None:
    agent.script(WAIT, "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "go")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    everyone = [running.pid, *children(running.pid)]
    for pid in everyone:
        os.kill(pid, signal.SIGKILL)
    running.process.wait()
    until("all of them are gone", lambda: not any(alive(pid) for pid in everyone))
    (row,) = (line for line in agent.run("session", "ls").out.splitlines() if " go " in line)
    assert " open " in row
    assert "running" not in row
    agent.gate_file.touch()
    assert agent.rehearse("something else").out == "done\n"


def test_a_terminal_that_hangs_up_leaves_nothing_behind_but_the_session(agent: Agent) -> None:
    agent.script(WAIT, "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "go")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    command = agent.application.calls()[0].pid
    everyone = [running.pid, *children(running.pid), command]
    running.signal(signal.SIGHUP)
    running.process.wait()
    until("all of them are gone", lambda: not any(alive(pid) for pid in everyone))
    assert list((agent.home / "tmp").iterdir()) == []
    (session,) = (path.stem for path in agent.sessions.glob("*.json"))
    agent.gate_file.touch()
    done = agent.rehearse("--resume", session)
    assert (done.status, done.out) == (0, "done\n")


# Sessions that were damaged.


def test_a_session_cut_anywhere_in_its_last_line_goes_on(agent: Agent) -> None:
    agent.script(SAY, "{say: It says Moo.}")
    session = killed(agent, "model.before#2")
    whole = journal(agent, session).read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    journal(agent, session).write_bytes(whole[: (start + len(whole)) // 2])
    done = agent.rehearse("--resume", session)
    assert (done.status, done.out) == (0, "It says Moo.\n")
    assert agent.application.count("say") == 2  # its result was in the lost line
    assert journal(agent, session).read_bytes().startswith(whole[:start])


def test_a_session_damaged_in_its_middle_is_refused_with_file_and_line(agent: Agent) -> None:
    other = session_of(agent.rehearse("go").err)
    agent.script(SAY, "{say: It says Moo.}")
    session = killed(agent, "model.before#2")
    path = journal(agent, session)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:20] + b"\n"
    path.write_bytes(b"".join(lines))
    for words in (("session", "show", session), ("session", "stats", session)):
        shown = agent.run(*words)
        assert (shown.status, shown.out) == (1, "")
        assert f"{path.name} line 2: " in last_line(shown)
    refused = agent.rehearse("--resume", session)
    assert (refused.status, refused.out) == (1, "")
    assert "Traceback" not in refused.err
    assert path.read_bytes() == b"".join(lines)
    assert agent.application.count("say") == 1
    assert other in agent.run("session", "ls").out
    assert agent.run("session", "show", other).status == 0


# Decisions and what changed behind them.


def _deny_in_file(agent: Agent) -> None:
    agent.extend("exclude: {tools: [wipe]}\n")


def _deny_in_program(agent: Agent) -> None:
    commands = [
        replace(command, tags=("ai:deny",)) if command.path == "wipe" else command
        for command in agent.application.commands
    ]
    FakeApplication(agent.application.directory, commands)


@pytest.mark.parametrize("deny", [_deny_in_file, _deny_in_program])
def test_an_approved_call_that_was_denied_since_never_runs(
    agent: Agent, parked: str, deny: Callable[[Agent], None]
) -> None:
    approved = agent.run("session", "approve", parked)
    assert (approved.status, approved.out) == (0, "recorded\n"), approved.err
    deny(agent)
    words = ("run", "--script", "script.yaml", "--no-tui", "--resume", parked)
    done = Terminal(agent, *words).end()
    assert (done.status, done.out) == (0, "Done.\n")
    assert "the tools changed since this conversation began" in done.err
    assert 'the model called "wipe", which is not one of its tools' in done.err
    assert agent.application.count("wipe") == 0


# Calls that a dead worker may have run.


@pytest.fixture
def harmful(agent: Agent) -> Agent:
    """An agent whose worker was killed right behind its destructive command."""
    agent.application = FakeApplication(
        agent.home / "harmful",
        [FakeCommand(path="format", tags=("ai:destructive",), output="formatted\n")],
    )
    agent.configure()
    agent.script("{call: [{tool: format, input: {}}]}", "{say: done}")
    return agent


def test_a_destructive_call_that_may_have_run_is_not_repeated_where_nobody_sits(
    harmful: Agent,
) -> None:
    session = killed(harmful, "tool.after:format")
    done = harmful.rehearse("--resume", session)
    assert (done.status, done.out) == (0, "done\n")
    assert harmful.application.count("format") == 1
    found = harmful.run("session", "query", session, "--tool", "format", "--errors").out
    assert "unknown" in found


@pytest.mark.parametrize(("answer", "runs"), [("1\r", 1), ("2\r", 2)])
def test_a_destructive_call_that_may_have_run_is_repeated_by_a_person_alone(
    harmful: Agent, answer: str, runs: int
) -> None:
    session = killed(harmful, "tool.after:format")
    terminal = Terminal(harmful, "run", "--script", "script.yaml", "--no-tui", "--resume", session)
    terminal.wait_shown("answer [1]: ")
    assert "may already have run" in terminal.screen()
    assert harmful.application.count("format") == 1
    terminal.type(answer)
    done = terminal.end()
    assert (done.status, done.out) == (0, "done\n")
    assert harmful.application.count("format") == runs


# Sizes.


def _peak_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("size", [318_000, FLOOD_BYTES])
def test_output_of_any_size_reaches_model_session_and_bus_as_its_two_ends(
    agent: Agent, size: int
) -> None:
    before, after = agent.home / "before", agent.home / "after"
    flood = "THE BEGINNING" + "x" * (size - 20) + "THE END"
    agent.application = FakeApplication(
        agent.home / "flooding",
        [
            FakeCommand(path="first", wait_for=before),
            FakeCommand(path="flood", output=flood),
            FakeCommand(path="last", wait_for=after),
        ],
    )
    agent.configure()
    calls = (f"{{call: [{{tool: {name}, input: {{}}}}]}}" for name in ("first", "flood", "last"))
    agent.script(*calls, "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "--a2a-debug", "go")
    until("the first command runs", lambda: agent.application.count("first") == 1)
    worker = running.child("agent_worker")
    peaks = {pid: _peak_kb(pid) for pid in (worker, running.pid)}
    before.touch()
    until("the last command runs", lambda: agent.application.count("last") == 1)
    for pid, peak in peaks.items():
        assert _peak_kb(pid) - peak < GROWTH_LIMIT_KB
    after.touch()
    done = running.end()
    assert (done.status, done.out) == (0, "done\n")
    session = session_of(done.err)
    found = json.loads(agent.run("session", "query", session, "--tool", "flood", "--json").out)
    text = json.dumps(found)
    assert "THE BEGINNING" in text
    assert "THE END" in text
    assert "[output truncated]" in text
    assert len(text) < 80_000
    assert journal(agent, session).stat().st_size < 90_000
    longest = max(map(len, (agent.home / "a2a-debug.log").read_bytes().splitlines()))
    assert longest < 90_000


# Two workers, one memory.


def test_of_two_workers_that_create_a_memory_one_is_told_what_is_there(agent: Agent) -> None:
    notes = agent.home / "notes"
    agent.extend(f"harness: {{memory: {{enabled: true, options: {{directory: {notes}}}}}}}\n")
    running: list[Running] = []
    for name in ("one", "two"):
        write = f"{{key: k, description: from {name}, content: {name}}}"
        agent.script(WAIT, f"{{call: [{{tool: memory_write, input: {write}}}]}}", "{say: done}")
        (agent.home / "script.yaml").rename(agent.home / f"{name}.yaml")
        running.append(agent.start("run", "--script", f"{name}.yaml", "go"))
    until("both are ready to write", lambda: agent.application.count("wait") == 2)
    agent.gate_file.touch()
    ends = [each.end() for each in running]
    assert [(done.status, done.out) for done in ends] == [(0, "done\n")] * 2
    told = [
        agent.run("session", "query", session_of(done.err), "--tool", "memory_write", "--json").out
        for done in ends
    ]
    won = [r"\"written\":true" in text for text in told]
    assert sorted(won) == [False, True]
    name = "one" if won[0] else "two"
    lost = told[won.index(False)]
    assert "exists already" in lost
    assert f"from {name}" in lost
    assert (notes / "k.md").read_text(encoding="utf-8").endswith(f"\n{name}")


# What the model API says, and what the exit code says.


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("context_exceeded", "no longer fits"),
        ("rate_limited", "rate"),
        ("overloaded", "overloaded"),
        ("refused", "refused"),
        ("timeout", "in time"),
    ],
)
def test_what_kept_the_model_from_answering_is_told_and_can_be_resumed(
    agent: Agent, failure: str, words: str
) -> None:
    agent.script(SAY, f"{{fail: {failure}}}", "{say: It says Moo.}")
    failed = agent.rehearse("go")
    assert (failed.status, failed.out) == (1, "")
    assert words in last_line(failed)
    session = session_of(failed.err)
    assert " error " in next(
        line for line in agent.run("session", "ls").out.splitlines() if session in line
    )
    resumed = agent.rehearse("--resume", session)
    assert (resumed.status, resumed.out) == (0, "It says Moo.\n")
    assert agent.application.count("say") == 1


@dataclass(frozen=True)
class End:
    """One way a headless run can end, and what its exit code and its words have to be."""

    name: str
    turns: Sequence[str]
    status: int
    words: str
    config: str = ""
    environ: tuple[tuple[str, str], ...] = ()
    prepare: Callable[[Agent], object] = lambda _: None


ENDS = (
    End("an answer", ("{say: done}",), 0, "Run summary"),
    End(
        "a command that failed",
        ("{call: [{tool: fail, input: {}}]}", "{say: it failed}"),
        0,
        "Run summary",
    ),
    End("a script without a turn left", (SAY,), 1, "script.yaml"),
    End("a spent budget", (f"{{{SAY[1:-1]}, {SPENT}}}", "{say: no}"), 1, "llm.budget.max_tokens"),
    End("the last iteration", (SAY, SAY, "{say: no}"), 1, "llm.budget.max_iterations"),
    End("a model that does not answer", ("{fail: overloaded}",), 1, "overloaded"),
    End(
        "a bug",
        (SAY, "{say: no}"),
        1,
        "crashed",
        environ=(("FISK_AI_FAULT", "tool.after=raise"),),
    ),
    End(
        "a worker that was killed",
        (SAY, "{say: no}"),
        1,
        "SIGKILL",
        environ=(("FISK_AI_FAULT", "tool.after=kill"),),
    ),
    End("a key that is none", ("{say: no}",), 1, "no_such_key", config="no_such_key: 1\n"),
)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name.replace(" ", "_"))
def test_the_exit_code_says_success_for_answers_alone(agent: Agent, end: End) -> None:
    agent.script(*end.turns)
    if end.words.startswith("llm.budget"):
        bound = "max_tokens: 100" if "tokens" in end.words else "max_iterations: 1"
        text = (agent.home / "agent.yaml").read_text(encoding="utf-8")
        agent.configure(text.replace("model: small", f"model: small, budget: {{{bound}}}"))
    agent.extend(end.config)
    done = agent.rehearse("go", environ=dict(end.environ))
    assert done.status == end.status
    assert end.words in done.err
    assert bool(done.out) == (end.status == 0)
    assert done.err.count("fisk-ai: error: ") == end.status


def test_a_parked_run_says_so_and_is_never_an_answer(agent: Agent) -> None:
    agent.script(WAIT, "{say: done}")
    running = agent.start("run", "--script", "script.yaml", "go")
    until("the command runs", lambda: agent.application.count("wait") == 1)
    os.kill(running.child("agent_worker"), signal.SIGTERM)
    running.wait_said("-> wait()")
    agent.gate_file.touch()
    parked = running.end()
    assert (parked.status, parked.out) == (0, "")
    assert "the run stopped where it can be resumed" in parked.err
    assert f"&& fisk-ai run --resume {session_of(parked.err)}" in parked.err
    done = agent.rehearse("--resume", session_of(parked.err))
    assert (done.status, done.out) == (0, "done\n")
    assert agent.application.count("wait") == 1
