"""What ``fisk-ai session show`` says of what a session waits for, and of what was decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.testing.parked import (
    GATED,
    INPUT,
    NOT_A_PERSONS,
    QUESTIONS,
    batch,
    deferred,
    session,
)
from fisk_ai.testing.session_records import (
    claim,
    result,
    terminal,
    write_file,
)
from fisk_ai.toolkit.builtin import hitl


def test_a_parked_question_is_shown_with_what_answers_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    start = f"decide with: fisk-ai session answer one {{}} --state-dir {tmp_path} --"
    for line in (
        "q1 (confirm): Really red?",
        start.format("q1") + "confirm yes|no",
        "q2 (select): Which?",
        "option: red",
        "option: blue red",
        start.format("q2") + "select OPTION",
        start.format("q3") + "input TEXT",
        "q4 -> deploy: job red 7",
        NOT_A_PERSONS,
    ):
        assert line in lines


def test_a_call_that_waits_for_a_decision_is_shown_with_what_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert f"decide with: fisk-ai session approve one g1 --state-dir {tmp_path}, or deny" in out


def test_a_session_whose_calls_are_all_decided_shows_the_decisions_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "approve", "one", "g1") == 0
    assert session(tmp_path, "show", "one") == 0
    assert "resume with" not in capsys.readouterr().out
    assert session(tmp_path, "deny", "one", "g2") == 0
    capsys.readouterr()
    assert session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    decided = lines[lines.index("Decided:") :]
    assert 'g1 (approve): rm(n:1.0, path:"/x"): approved' in decided
    assert any(line.startswith('g2: {"allowed":false') for line in decided)
    assert any(line.startswith("resume with: fisk-ai run --resume one ") for line in decided)
    assert "Waiting on:" not in lines


def test_an_answered_question_is_shown_until_a_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", batch(INPUT), deferred("q3", hitl.INPUT), terminal("suspended"))
    assert session(tmp_path, "answer", "one", "--input", "-x") == 0
    assert session(tmp_path, "show", "one") == 0
    assert 'q3: {"value":"-x"}' in capsys.readouterr().out
    write_file(tmp_path, "two", *GATED[:1], result("g1"), result("g2"), terminal(), claim())
    assert session(tmp_path, "show", "two") == 0
    assert "Decided" not in capsys.readouterr().out
