"""How an outcome is told: the first rule that fits decides."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai import errors
from fisk_ai.a2a.codes import Ending, ErrorCode, Facts, disposition

SECRET = RuntimeError("/home/someone/secret")
FAILED = errors.FiskError("the disk is full")

CASES: list[tuple[str, Facts, str, str]] = [
    ("rejected", Facts(rejected=True, crashed=True), "rejected", "error"),
    ("crashed", Facts(crashed=True, reason="completed"), "crashed", "end_turn"),
    ("abandoned", Facts(abandoned=True), "not_started", "error"),
    ("hard stop", Facts(canceled=True, error=FAILED), "canceled", "canceled"),
    ("hard stop after the end", Facts(canceled=True, reason="completed"), "", "end_turn"),
    ("unknown call", Facts(error=errors.NotDeferredError("x")), "unknown_call", "error"),
    ("answered", Facts(error=errors.AlreadyAnsweredError("x")), "already_answered", "error"),
    ("too large", Facts(error=errors.ResultTooLargeError("x")), "answer_too_large", "error"),
    ("no journal", Facts(error=errors.NotFoundError("x")), "unknown_conversation", "error"),
    (
        "no journal for a follow-up",
        Facts(error=errors.NotFoundError("x"), follow_up=True),
        "unknown_conversation",
        "error",
    ),
    ("held elsewhere", Facts(error=errors.LockedError("x")), "conversation_busy", "error"),
    (
        "lost later",
        Facts(error=errors.LockedError("x"), started=True, reason="error"),
        "failed",
        "error",
    ),
    (
        "lost later without a reason",
        Facts(error=errors.LockedError("x"), started=True),
        "failed",
        "error",
    ),
    ("budget", Facts(reason="budget", error=FAILED), "budget_exhausted", "budget_exhausted"),
    (
        "budget before a follow-up",
        Facts(reason="budget", follow_up=True),
        "budget_exhausted",
        "budget_exhausted",
    ),
    (
        "follow-up not taken",
        Facts(reason="suspended", follow_up=True, waiting=("u",)),
        "turn_not_taken",
        "suspended",
    ),
    (
        "a refused follow-up would be refused again",
        Facts(error=errors.RefusedError("another provider"), follow_up=True),
        "failed",
        "error",
    ),
    (
        "a follow-up that failed before it was taken",
        Facts(reason="error", error=FAILED, follow_up=True, started=True),
        "turn_not_taken",
        "error",
    ),
    (
        "drift is told before the follow-up",
        Facts(error=errors.DriftError("x", lines=()), follow_up=True),
        "config_drift",
        "error",
    ),
    (
        "deferred",
        Facts(reason="suspended", waiting=("u1", "u2"), started=True),
        "deferred",
        "suspended",
    ),
    ("suspended", Facts(reason="suspended"), "suspended", "suspended"),
    ("no outcome", Facts(), "failed", "error"),
    ("set-up failed", Facts(error=FAILED), "failed", "error"),
    ("drift", Facts(error=errors.DriftError("x", lines=())), "config_drift", "error"),
    ("iterations", Facts(reason="max_iterations", error=FAILED), "failed", "max_iterations"),
    ("error", Facts(reason="error", error=FAILED), "failed", "error"),
    ("completed", Facts(reason="completed"), "", "end_turn"),
    (
        "completed follow-up",
        Facts(reason="completed", follow_up=True, taken=True),
        "",
        "end_turn",
    ),
]


@pytest.mark.parametrize(
    ("facts", "code", "stop_reason"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_an_outcome_has_its_code_and_stop_reason(facts: Facts, code: str, stop_reason: str) -> None:
    ending = disposition(facts)
    assert (ending.code, ending.stop_reason) == (code, stop_reason)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        ("rate_limited", "provider_busy"),
        ("overloaded", "provider_busy"),
        ("refused", "provider_refused"),
        ("context_exceeded", "context_exceeded"),
        ("timeout", "failed"),
        ("failed", "failed"),
    ],
)
def test_what_kept_the_model_from_answering_is_told_apart(
    failure: errors.ProviderFailure, code: str
) -> None:
    error = errors.ProviderError("the model did not answer", failure=failure)
    assert disposition(Facts(reason="error", error=error)).code == code


def test_a_deferred_run_names_the_calls_it_waits_for() -> None:
    assert "tool_use u1,u2;" in disposition(Facts(reason="suspended", waiting=("u1", "u2"))).text


def test_a_used_up_budget_says_that_no_further_turn_is_taken() -> None:
    error = errors.FiskError("spent 9 of 5 tokens (llm.budget.max_tokens)")
    text = disposition(Facts(reason="budget", error=error)).text
    assert (
        text == "spent 9 of 5 tokens (llm.budget.max_tokens); it takes no further turn until then"
    )


def test_a_message_that_was_not_used_is_told_why() -> None:
    parked = disposition(Facts(reason="suspended", follow_up=True, waiting=("u",))).text
    assert "earlier work of this conversation came first" in parked
    denied = disposition(Facts(reason="error", error=FAILED, follow_up=True)).text
    assert denied == f"the new message was not used: {FAILED}"


def test_a_crash_and_a_foreign_error_tell_nothing_of_their_detail() -> None:
    for facts in (
        Facts(crashed=True, error=SECRET),
        Facts(reason="error", error=SECRET),
        Facts(error=SECRET),
        Facts(rejected=True, error=SECRET),
        Facts(follow_up=True, error=SECRET),
    ):
        assert "secret" not in disposition(facts).text


FLAGS = [each.name for each in dataclasses.fields(Facts) if each.type == "bool"]
ERRORS = [
    None,
    SECRET,
    FAILED,
    errors.LockedError("x"),
    errors.NotFoundError("x"),
    errors.DriftError("x", lines=()),
    errors.RefusedError("x"),
    errors.NotDeferredError("x"),
    errors.ProviderError("x", failure="overloaded"),
]
REASONS = [None, "completed", "suspended", "error", "budget", "max_iterations"]


@given(
    st.fixed_dictionaries(
        {
            **{flag: st.booleans() for flag in FLAGS},
            "error": st.sampled_from(ERRORS),
            "reason": st.sampled_from(REASONS),
        }
    )
)
def test_every_outcome_has_an_ending_that_can_be_told(facts: dict[str, object]) -> None:
    ending: Ending = disposition(Facts(**facts))  # pyright: ignore[reportArgumentType] - generated
    assert ending.code in ("", *get_args(ErrorCode))
    assert bool(ending.text) == bool(ending.code)
    assert ending.stop_reason in (
        "end_turn", "canceled", "error", "budget_exhausted", "suspended", "max_iterations",
    )  # fmt: skip
