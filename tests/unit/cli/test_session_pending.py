"""``fisk-ai session pending``: what waits for a person, over all sessions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.cli.times import local_time
from fisk_ai.llm.model import ToolUseBlock
from fisk_ai.sessions.records import (
    Reason,
    Terminal,
)
from fisk_ai.testing.parked import (
    BATCH,
    GATED,
    HOSTILE,
    QUESTIONS,
    batch,
    deferred,
    session,
)
from fisk_ai.testing.session_records import (
    assistant,
    claim,
    meta,
    result,
    terminal,
    write_file,
)
from fisk_ai.toolkit.builtin import hitl


def test_what_waits_is_listed_over_all_sessions_oldest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = replace(meta(created="2026-07-25T00:00:00Z"), agent="cow")
    write_file(tmp_path, "one", *GATED, opening=newer)
    write_file(tmp_path, "two", *QUESTIONS)
    write_file(tmp_path, "done", assistant("a"), result("a"), terminal())
    write_file(tmp_path, "failed", GATED[0], terminal("error"))
    assert session(tmp_path, "pending") == 0
    out = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines()]
    first = local_time("2026-07-24T09:15:04Z")
    assert rows[1] == ["Session", "Call", "Kind", "Tool", "Question", "Since", "Agent"]
    assert [row[:5] for row in rows[3:-1]] == [
        ["two", "q1", "confirm", hitl.CONFIRM, "Really red?"],
        ["two", "q2", "select", hitl.SELECT, "Which?"],
        ["two", "q3", "input", hitl.INPUT, "What?"],
        ["two", "q4", "deferred", "deploy", "job red 7"],
        ["one", "g1", "approve", "rm", 'rm(n:1.0, path:"/x")'],
        ["one", "g2", "approve", "say", 'say(message:"red")'],
    ]
    assert rows[3][5] == first
    assert [row[6] for row in rows[3:-1]] == ["", "", "", "", "cow", "cow"]


def test_what_waits_is_there_for_other_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert session(tmp_path, "pending", "--json", "--limit", "1") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "calls": [
            {
                "run_id": "one",
                "tool_use_id": "q1",
                "kind": "confirm",
                "tool": hitl.CONFIRM,
                "question": f"Really {HOSTILE}?",
                "since": "2026-07-24T09:15:04.5Z",
            }
        ]
    }
    assert printed.out.isascii()
    assert printed.err == "more calls: pass --offset 1\n"


def test_nothing_that_waits_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_file(tmp_path, "one", assistant(say="x"), terminal())
    assert session(tmp_path, "pending") == 0
    assert capsys.readouterr().out == "Nothing waits for an answer\n"


@pytest.mark.parametrize("arguments", [b"null", b"[1]", b'{"question":null}'])
def test_a_question_without_words_is_listed_by_what_its_tool_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: bytes
) -> None:
    asked = batch(ToolUseBlock("q1", hitl.SELECT, arguments))
    write_file(tmp_path, "one", asked, deferred("q1", hitl.SELECT, "the note"), claim())
    assert session(tmp_path, "pending") == 0
    assert "│ the note │" in capsys.readouterr().out
    assert session(tmp_path, "answer", "one", "--select", "x") == 1
    assert "takes the text of an option" in capsys.readouterr().err


@pytest.mark.parametrize("reason", ["budget", "max_iterations", "error"])
def test_a_run_that_ended_by_a_bound_or_a_failure_waits_for_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    write_file(tmp_path, "one", GATED[0], Terminal(reason=cast("Reason", reason)))
    assert session(tmp_path, "pending") == 0
    assert capsys.readouterr().out == "Nothing waits for an answer\n"
    assert session(tmp_path, "approve", "one", "g1") == 1
    assert f"does not wait on call g1: it is {reason}" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_listing_of_what_waits_is_no_wider_than_the_terminal(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setattr("fisk_ai.cli.session_pending.terminal_width", lambda: width)
    monkeypatch.setattr("fisk_ai.cli.session_stats.terminal_width", lambda: width)
    write_file(tmp_path, "one", *QUESTIONS)
    write_file(tmp_path, "two", *GATED)
    assert session(tmp_path, "pending") == 0
    assert session(tmp_path, "stats", "one") == 0
    assert all(len(line) <= width for line in capsys.readouterr().out.splitlines())


def test_a_question_that_is_still_to_be_asked_does_not_look_answerable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *BATCH)
    assert session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert "│ confirm, unasked │" in printed.out
    assert "an unasked question is still to be asked: resume the session" in printed.err
    assert session(tmp_path, "pending", "--json") == 0
    printed = capsys.readouterr()
    calls = cast("list[dict[str, object]]", json.loads(printed.out)["calls"])
    unasked = {call["tool_use_id"]: call.get("unasked") for call in calls}
    assert unasked == {"q1": None, "q2": True, "g1": None}
    assert printed.err == ""
    assert session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert "still to be asked" in out
    assert "session answer one q2" not in out
    assert f"resume with: fisk-ai run --resume one --state-dir {tmp_path} --script FILE" in out
    assert session(tmp_path, "answer", "one", "q2", "--confirm", "yes") == 1
    assert "call q2 is still to be asked" in capsys.readouterr().err
