"""Who may allow a gated call, row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.agent.options import HeldApproval
from fisk_ai.errors import DeferredError, FiskError, PromptAbortedError
from fisk_ai.sessions.records import CallApproval
from fisk_ai.toolkit.gate import IN_DOUBT_REASON, ConfirmGate, Decision, control_error
from fisk_ai.toolkit.prompter import (
    NO_OPERATOR_REASON,
    Choice,
    DefaultDenyPrompter,
    GateRequest,
)


@dataclass
class Asking(DefaultDenyPrompter):
    """Answers from a list and keeps what it was asked."""

    answers: list[Choice | Exception] = field(default_factory=list[Choice | Exception])
    reachable: bool = True
    asked: list[GateRequest] = field(default_factory=list[GateRequest])

    def can_prompt(self) -> bool:
        return self.reachable

    async def approve(self, request: GateRequest) -> Choice:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


CALL = GateRequest(
    tool_use_id="toolu_1",
    command="ship scrap",
    display="ship scrap -- Otter",
    tag="ai:confirm",
    args_sha256="aa",
)


def one_shot(digest: str, call: str = "toolu_1") -> dict[str, CallApproval]:
    approval = CallApproval(tool_use_id=call, tool_name="ship_scrap", args_sha256=digest)
    return {call: approval}


async def decide(
    gate: ConfirmGate,
    request: GateRequest = CALL,
    *,
    fresh_only: bool = False,
    over: bool = False,
) -> Decision:
    return await gate.approve(request, "ship_scrap", fresh_only=fresh_only, cancelled=lambda: over)


async def test_nobody_to_ask_denies_before_any_grant_and_spends_none() -> None:
    prompter = Asking(reachable=False)
    gate = ConfirmGate(prompter, standing=["ship_scrap"], one_shot=one_shot("aa"))
    decision = await decide(gate)
    assert decision == Decision(allowed=False, reason=NO_OPERATOR_REASON)
    assert prompter.asked == []
    prompter.reachable = True
    assert (await decide(ConfirmGate(prompter, one_shot=one_shot("aa")))).allowed


async def test_a_one_shot_approval_is_still_there_after_a_moment_without_an_operator() -> None:
    prompter = Asking(reachable=False)
    gate = ConfirmGate(prompter, one_shot=one_shot("aa"))
    assert not (await decide(gate)).allowed
    prompter.reachable = True
    assert (await decide(gate)).allowed
    assert prompter.asked == []


async def test_the_default_prompter_denies_in_words_a_model_reads_as_a_result() -> None:
    decision = await decide(ConfirmGate(DefaultDenyPrompter()))
    assert json.loads(decision.result_text()) == {"allowed": False, "reason": NO_OPERATOR_REASON}
    assert not decision.is_error


async def test_a_run_that_is_over_decides_nothing() -> None:
    gate = ConfirmGate(Asking(), standing=["ship_scrap"], one_shot=one_shot("aa"))
    with pytest.raises(PromptAbortedError):
        await decide(gate, over=True)


async def test_a_standing_grant_holds_for_its_tool_and_any_arguments() -> None:
    prompter = Asking(["no"])
    gate = ConfirmGate(prompter, standing=["ship_scrap"])
    assert await decide(gate) == Decision(allowed=True)
    assert (await decide(gate, replace(CALL, args_sha256="bb"))).allowed
    other = await gate.approve(CALL, "ship_dock", cancelled=lambda: False)
    assert not other.allowed
    assert len(prompter.asked) == 1


@pytest.mark.parametrize("digest", ["aa", ""])
async def test_a_one_shot_approval_is_spent_by_its_one_call(digest: str) -> None:
    prompter = Asking(["no"])
    gate = ConfirmGate(prompter, one_shot=one_shot(digest))
    assert await decide(gate) == Decision(allowed=True)
    assert not (await decide(gate)).allowed
    assert len(prompter.asked) == 1


async def test_an_approval_of_other_arguments_is_spent_without_effect() -> None:
    prompter = Asking(["once", "no"])
    gate = ConfirmGate(prompter, one_shot=one_shot("bb"))
    assert (await decide(gate)).allowed
    assert not (await decide(gate, replace(CALL, args_sha256="bb"))).allowed
    assert len(prompter.asked) == 2


async def test_an_approval_of_another_call_does_not_count() -> None:
    prompter = Asking(["no"])
    gate = ConfirmGate(prompter, one_shot=one_shot("aa", call="toolu_2"))
    assert not (await decide(gate)).allowed


async def test_no_declines_finally_and_is_asked_again_next_time() -> None:
    prompter = Asking(["no", "once"])
    gate = ConfirmGate(prompter)
    refused = await decide(gate)
    assert not refused.allowed
    assert "declined" in refused.reason
    assert "final" in refused.reason
    assert "do not retry" in refused.reason
    assert (await decide(gate)).allowed
    assert len(prompter.asked) == 2


async def test_always_grants_at_once_and_is_handed_over_for_recording_once() -> None:
    prompter = Asking(["always"])
    gate = ConfirmGate(prompter)
    assert await decide(gate) == Decision(allowed=True, granted="ship_scrap")
    assert gate.standing == ("ship_scrap",)
    assert await decide(gate) == Decision(allowed=True)
    assert len(prompter.asked) == 1


async def test_once_grants_nothing() -> None:
    prompter = Asking(["once", "once"])
    gate = ConfirmGate(prompter)
    assert await decide(gate) == Decision(allowed=True)
    assert gate.standing == ()
    await decide(gate)
    assert len(prompter.asked) == 2


@pytest.mark.parametrize("raised", [PromptAbortedError("interrupted"), DeferredError("later")])
async def test_an_interruption_and_a_deferral_are_no_decision(raised: Exception) -> None:
    with pytest.raises(type(raised)) as plain:
        await decide(ConfirmGate(Asking([raised])))
    assert plain.value is raised
    wrapped = RuntimeError("transport")
    wrapped.__cause__ = raised
    with pytest.raises(type(raised)):
        await decide(ConfirmGate(Asking([wrapped])))


@pytest.mark.parametrize("failure", [FiskError("gone \x1b[31maway"), OSError("broken"), KeyError()])
async def test_any_other_failure_denies_and_is_quoted(failure: Exception) -> None:
    decision = await decide(ConfirmGate(Asking([failure])))
    assert not decision.allowed
    assert not decision.is_error
    assert "could not be asked" in decision.reason
    assert "final, do not retry" in decision.reason
    assert "\x1b" not in decision.reason
    if isinstance(failure, FiskError):
        assert "gone away" in decision.reason


async def test_the_person_sees_exactly_what_was_asked() -> None:
    prompter = Asking(["no"])
    await decide(ConfirmGate(prompter))
    assert prompter.asked == [CALL]


@pytest.mark.parametrize(("choice", "allowed"), [("once", True), ("always", True), ("no", False)])
async def test_a_held_decision_answers_the_question_of_its_call_once(
    choice: Choice, *, allowed: bool
) -> None:
    prompter = Asking(["no", "no"])
    held = HeldApproval(tool_use_id="toolu_1", choice=choice, args_sha256="aa")
    gate = ConfirmGate(prompter, held=held)
    other = await gate.approve(
        replace(CALL, tool_use_id="toolu_0"), "ship_scrap", cancelled=lambda: False
    )
    assert not other.allowed
    assert (await decide(gate)).allowed is allowed
    assert len(prompter.asked) == 1
    assert (gate.standing == ("ship_scrap",)) is (choice == "always")


async def test_a_held_decision_about_other_arguments_is_spent_and_the_gate_asks() -> None:
    prompter = Asking(["no", "no"])
    held = HeldApproval(tool_use_id="toolu_1", choice="once", args_sha256="bb")
    gate = ConfirmGate(prompter, held=held)
    assert not (await decide(gate)).allowed
    assert not (await decide(gate, replace(CALL, args_sha256="bb"))).allowed
    assert len(prompter.asked) == 2


async def test_a_held_decision_without_a_digest_counts_by_its_call() -> None:
    held = HeldApproval(tool_use_id="toolu_1", choice="once")
    assert (await decide(ConfirmGate(Asking(), held=held))).allowed


async def test_a_call_in_doubt_is_asked_about_in_spite_of_earlier_grants() -> None:
    prompter = Asking(["once"])
    gate = ConfirmGate(prompter, standing=["ship_scrap"], one_shot=one_shot("aa"))
    assert (await decide(gate, fresh_only=True)).allowed
    (asked,) = prompter.asked
    assert asked.display == "(may already have run) ship scrap -- Otter"


async def test_a_decision_given_since_the_doubt_counts() -> None:
    prompter = Asking()
    held = HeldApproval(tool_use_id="toolu_1", choice="once", args_sha256="aa")
    assert (await decide(ConfirmGate(prompter, held=held), fresh_only=True)).allowed
    assert prompter.asked == []


@pytest.mark.parametrize(
    "prompter", [Asking(reachable=False), Asking(["no"]), Asking([OSError("broken")])]
)
async def test_every_refusal_of_a_call_in_doubt_says_that_its_outcome_is_unknown(
    prompter: Asking,
) -> None:
    gate = ConfirmGate(prompter, standing=["ship_scrap"])
    decision = await decide(gate, fresh_only=True)
    assert decision == Decision(allowed=False, reason=IN_DOUBT_REASON, is_error=True)
    assert decision.result_text() == (
        "outcome unknown: the worker stopped while this ran; check before repeating"
    )


async def test_always_on_a_call_in_doubt_grants_as_ever() -> None:
    gate = ConfirmGate(Asking(["always"]))
    assert await decide(gate, fresh_only=True) == Decision(allowed=True, granted="ship_scrap")


async def test_a_grant_from_before_the_doubt_is_not_recorded_twice() -> None:
    gate = ConfirmGate(Asking(["always"]), standing=["ship_scrap"])
    assert await decide(gate, fresh_only=True) == Decision(allowed=True)


async def test_a_question_that_says_it_already_is_not_told_twice() -> None:
    prompter = Asking(["no"])
    marked = replace(CALL, display="(may already have run) ship scrap")
    await decide(ConfirmGate(prompter), marked, fresh_only=True)
    assert prompter.asked == [marked]


def test_a_control_error_is_found_through_what_wraps_it() -> None:
    inner = DeferredError("later")
    middle = ValueError()
    middle.__cause__ = inner
    outer = RuntimeError()
    outer.__cause__ = middle
    assert control_error(outer) is inner
    assert control_error(RuntimeError()) is None
    circle = RuntimeError()
    circle.__cause__ = circle
    assert control_error(circle) is None


CHOICES: st.SearchStrategy[Choice] = st.sampled_from(["no", "once", "always"])


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["toolu_1", "toolu_2"]),
            st.sampled_from(["ship_scrap", "ship_dock"]),
            st.sampled_from(["aa", "bb"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    ),
    standing=st.sets(st.sampled_from(["ship_scrap", "ship_dock"])),
    digest=st.sampled_from(["", "aa", "bb"]),
    choice=CHOICES,
)
async def test_whatever_was_granted_nothing_runs_without_an_operator(
    calls: Sequence[tuple[str, str, str, bool]], standing: set[str], digest: str, choice: Choice
) -> None:
    held = HeldApproval(tool_use_id="toolu_1", choice=choice, args_sha256=digest)
    gate = ConfirmGate(
        Asking(reachable=False), standing=standing, one_shot=one_shot(digest), held=held
    )
    for call, tool, arguments, fresh_only in calls:
        request = replace(CALL, tool_use_id=call, args_sha256=arguments)
        decision = await gate.approve(request, tool, fresh_only=fresh_only, cancelled=lambda: False)
        assert not decision.allowed
        assert decision.granted is None


@given(answers=st.lists(CHOICES, min_size=6, max_size=6), digest=st.sampled_from(["aa", "bb"]))
async def test_a_call_runs_only_on_a_yes_that_somebody_gave(
    answers: list[Choice], digest: str
) -> None:
    prompter = Asking([*answers])
    gate = ConfirmGate(prompter, one_shot=one_shot(digest))
    granted, approvals = False, 1 if digest == "aa" else 0
    for _ in range(5):
        before = len(prompter.asked)
        decision = await decide(gate)
        said = answers[before] if len(prompter.asked) > before else None
        if said is None:
            assert decision.allowed
            assert granted or approvals
            approvals = approvals if granted else 0
        else:
            assert decision.allowed is (said != "no")
        granted = granted or said == "always"
