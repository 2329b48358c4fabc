"""The installed command, with its worker killed or broken at every fault point there is.

Whatever dies, asking again and again ends in the right answer: a resume where there is a session,
the prompt once more where there is none yet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fisk_ai.faults import VARIABLE, Point
from fisk_ai.testing.command import Agent, Done, alive, session_of

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

ATTEMPTS = 3
"""The run, its resume, and one more prompt where the first left no session."""

# a kill takes the terminal of the run along; a bug is told and its run ends
ACTIONS = ("kill", "raise")
NO_SESSION_YET = {
    Point.JOURNAL_CREATE_LOCKED,
    Point.JOURNAL_CREATE_OPENED,
    Point.JOURNAL_APPEND_BEFORE,
    Point.JOURNAL_APPEND_WRITTEN,
    Point.JOURNAL_APPEND_SYNCED,
    Point.TASK_ACKED,
}
"""Points that the first record of a session, or the run itself, comes after."""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent.make(tmp_path / "home")
    made.script('{call: [{tool: say, input: {message: "Moo"}}]}', "{say: It says Moo.}")
    yield made
    made.close()


def finish(agent: Agent, first: Done) -> tuple[Done, int]:
    """Go on as a person would, until there is an answer; returns how often the run was begun."""
    done, prompts = first, 1
    for _ in range(ATTEMPTS):
        if done.out:
            break
        if "resume with: " not in first.err or "before it began" in done.err:
            done, prompts = agent.rehearse("go"), prompts + 1
        else:
            done = agent.rehearse("--resume", session_of(first.err))
    return done, prompts


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", [point for point in Point if not point.startswith("turn.")])
def test_a_run_is_finished_whatever_ended_its_worker(
    agent: Agent, point: Point, action: str
) -> None:
    first = agent.rehearse("go", environ={VARIABLE: f"{point}={action}"})
    assert "Traceback" not in first.err
    done, prompts = finish(agent, first)
    assert done.out == "It says Moo.\n"
    said = agent.application.count("say")
    assert said == 1 or (point is Point.TOOL_AFTER and said == 2)
    assert prompts == 1 or point in NO_SESSION_YET
    assert list((agent.home / "tmp").iterdir()) == []


@pytest.mark.parametrize("record", ["assistant", "tool_result", "terminal"])
@pytest.mark.parametrize("step", ["before", "written", "synced"])
def test_a_worker_killed_around_a_record_repeats_nothing_recorded(
    agent: Agent, step: str, record: str
) -> None:
    fault = f"journal.append.{step}:{record}=kill"
    first = agent.rehearse("go", environ={VARIABLE: fault})
    assert first.status == 1
    done, prompts = finish(agent, first)
    assert (done.out, prompts) == ("It says Moo.\n", 1)
    repeated = record == "tool_result" and step == "before"
    assert agent.application.count("say") == (2 if repeated else 1)


def test_the_processes_of_a_run_that_was_cut_short_are_gone(agent: Agent) -> None:
    agent.rehearse("go", environ={VARIABLE: "tool.after=kill"})
    (call,) = agent.application.calls()
    assert not alive(call.pid)
    assert os.listdir(agent.home / "tmp") == []  # noqa: PTH208 - names alone
