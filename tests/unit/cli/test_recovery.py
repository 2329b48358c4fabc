"""What a session adds to an end that was not told, or not told whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fisk_ai.a2a.blocks import TRIM_NOTE
from fisk_ai.a2a.messages import Answer
from fisk_ai.cli.endings import INCOMPLETE
from fisk_ai.cli.recovery import is_wanting, recovered
from fisk_ai.cli.turn import TurnEnd
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Payload, Reason
from fisk_ai.sessions.state import RunState
from fisk_ai.testing.session_records import assistant, journal, result, terminal

LOST = TurnEnd(code=INCOMPLETE, detail="silence")


def _state(*payloads: Payload) -> RunState:
    return fold(journal(*payloads))


def test_a_complete_session_makes_a_lost_end_a_success_with_its_counters() -> None:
    state = _state(
        assistant("a", say="Let me see."), result("a"), assistant(say="Moo."), terminal()
    )
    end = recovered(LOST, state)
    assert (end.code, end.text) == ("", "Moo.")
    assert end.usage
    assert (end.usage.llm_calls, end.usage.tool_calls, end.usage.input_tokens) == (2, 1, 20)


@pytest.mark.parametrize(
    ("reason", "code"),
    [("suspended", "suspended"), ("error", "failed"), ("budget", "budget_exhausted")],
)
def test_a_session_that_ended_otherwise_says_how(reason: Reason, code: str) -> None:
    state = _state(assistant("a"), result("a"), terminal(reason))
    assert recovered(LOST, state).code == code


def test_an_answer_that_was_not_sent_is_still_to_be_sent_to_a_run_that_waits() -> None:
    answer = Answer(tool_use_id="a", kind="confirm", confirmed=True)
    state = _state(assistant("a"), result("a"), terminal("suspended"))
    assert recovered(replace(LOST, unsent=(answer,)), state).unsent == (answer,)


def test_an_open_session_leaves_the_outcome_unknown() -> None:
    assert recovered(LOST, _state(assistant("a"))) == LOST


def test_an_answer_is_completed_only_by_the_one_it_is_the_beginning_of() -> None:
    cut = TurnEnd(text=f"It says{TRIM_NOTE}")
    assert recovered(cut, _state(assistant(say="It says Moo."), terminal())).text == "It says Moo."
    assert recovered(cut, _state(assistant(say="Blue."), terminal())) == cut


@pytest.mark.parametrize(
    ("end", "wanting"),
    [
        (LOST, True),
        (TurnEnd(text=f"Moo{TRIM_NOTE}"), True),
        (TurnEnd(text="Moo"), False),
        (TurnEnd(code="failed"), False),
    ],
)
def test_the_session_is_asked_only_where_it_may_know_more(end: TurnEnd, *, wanting: bool) -> None:
    assert is_wanting(end) == wanting
