"""Every ending has words and an exit code that never calls a failure success."""

from __future__ import annotations

import pytest

from fisk_ai.a2a.codes import Facts, disposition
from fisk_ai.cli.endings import REFUSED, ending, may_resume


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("suspended", "the run stopped where it can be resumed: d"),
        ("deferred", "d"),
    ],
)
def test_parked_work_is_said_and_is_no_failure(code: str, message: str) -> None:
    end = ending(code, "d")
    assert end.message == message
    assert not end.failed


def test_a_run_that_was_asked_to_stop_says_so_once() -> None:
    told = disposition(Facts(reason="suspended"))
    assert ending(told.code, told.text).message == "the run stopped where it can be resumed"


@pytest.mark.parametrize(
    "code",
    [
        "capacity",
        "draining",
        "conversation_busy",
        "turn_not_taken",
        "failed",
        "unknown_conversation",
        "budget_exhausted",
        "crashed",
        "not_started",
        "canceled",
        "rejected",
        "config_drift",
        "provider_busy",
        "incomplete",
        "a_code_of_tomorrow",
    ],
)
def test_everything_else_is_a_failure_with_its_detail(code: str) -> None:
    detail = "the token budget is used up"
    end = ending(code, detail)
    assert end.failed
    assert end.message.count(detail) <= 1
    assert end.message == detail or "budget" not in end.message.replace(detail, "")
    silent = ending(code, "").message
    assert silent
    assert "{detail}" not in silent
    assert not silent.endswith(":")


def test_an_agents_words_are_one_bounded_line() -> None:
    end = ending("failed", "\x1b[2J{detail}\n" + "x" * 1000)
    assert end.message.startswith("{detail} x")
    assert len(end.message) == 401


@pytest.mark.parametrize("code", ["failed", "suspended", "budget_exhausted", "crashed", "left"])
def test_what_can_go_on_gets_a_hint(code: str) -> None:
    assert may_resume(code)


@pytest.mark.parametrize("code", ["", *REFUSED])
def test_what_a_resume_would_refuse_gets_no_hint(code: str) -> None:
    assert not may_resume(code)
