"""How each outcome of a run is told to the queue, and what a run of a job is given."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import UNSET

from agent_worker.channels.job_endings import Asked, answer_of
from agent_worker.channels.job_requests import request_of, work_of
from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import ErrorTerminal, RequestPrompt, Result, Sender, request_header
from fisk_ai.a2a.queued import Submission, request_in
from fisk_ai.agent.options import Budget, DeferredCall, Stats
from fisk_ai.errors import LockedError, RefusedError
from fisk_ai.jobs.job import Job
from fisk_ai.jobs.processing import RetryJobError, TerminateJobError
from fisk_ai.serving.contract import Caller, Outcome
from fisk_ai.text.clock import rfc3339_now
from fisk_ai.toolkit.prompter import DefaultDenyPrompter

JOB = Submission(prompt="Well?", caller="tester", job_id="one", context="here").job()
REQUEST = request_in(JOB)
assert REQUEST is not None
ASKED = Asked(REQUEST, "billing", "j-1")
CALLS = tuple(DeferredCall(tool_use_id=name, tool_name="t", note="secret") for name in ("a", "b"))

DEFERRED = (
    "terminate task: the run is waiting on a deferred tool result; answer session j-1"
    " tool_use a,b, then retry this task"
)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(id="x", rejected=True), "terminate task: the work was refused"),
        (Outcome(id="x", crashed=True, reason="error"), "terminate task: the run crashed"),
        (
            Outcome(id="x", deferred=CALLS, reason="suspended"),
            DEFERRED,
        ),
    ],
)
def test_an_outcome_that_no_try_mends_terminates_the_job(outcome: Outcome, said: str) -> None:
    with pytest.raises(TerminateJobError) as ended:
        answer_of(outcome, ASKED)
    assert str(ended.value) == said


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(id="x", abandoned=True), "the work was taken but never started"),
        (
            Outcome(id="x", reason="suspended", error=RefusedError("asked in vain")),
            "the run suspended and left a resumable session",
        ),
        (Outcome(id="x", error=LockedError("held")), "the run reached no outcome: held"),
        (
            Outcome(id="x", error=ValueError("secret")),
            "the run reached no outcome: the run failed inside the worker",
        ),
        (Outcome(id="x", canceled=True), "the run reached no outcome: the worker stopped the run"),
        (
            Outcome(id="x"),
            "the run reached no outcome: the run reported neither an outcome nor an error",
        ),
    ],
)
def test_an_outcome_that_another_try_may_mend_is_tried_again(outcome: Outcome, said: str) -> None:
    with pytest.raises(RetryJobError) as ended:
        answer_of(outcome, ASKED)
    assert str(ended.value) == said


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [("budget", "budget_exhausted"), ("max_iterations", "max_iterations"), ("error", "error")],
)
def test_a_reason_with_an_error_is_stored_as_an_error_without_a_code(
    reason: str, stop_reason: str
) -> None:
    outcome = Outcome(id="x", reason=reason, error=RefusedError("no"), stats=Stats())  # pyright: ignore[reportArgumentType] - a reason
    terminal = codec.decode(answer_of(outcome, ASKED).payload())
    assert isinstance(terminal, ErrorTerminal)
    assert (terminal.error, terminal.stop_reason, terminal.code) == ("no", stop_reason, "")
    assert terminal.usage is not UNSET


def test_a_run_that_completed_is_stored_as_a_result_without_usage_where_nothing_was_counted() -> (
    None
):
    outcome = Outcome(id="x", reason="completed", text="All is well.")
    terminal = codec.decode(answer_of(outcome, ASKED).payload())
    assert isinstance(terminal, Result)
    assert (terminal.text, terminal.stop_reason, terminal.usage) == (
        "All is well.",
        "end_turn",
        UNSET,
    )


def test_an_answer_over_the_limit_of_a_message_is_an_error_that_names_its_session() -> None:
    outcome = Outcome(id="x", reason="completed", text="x" * 800_000)
    terminal = codec.decode(answer_of(outcome, ASKED).payload())
    assert isinstance(terminal, ErrorTerminal)
    assert "it is in session j-1" in terminal.error


def test_a_run_of_a_job_may_be_forced_and_asks_nobody_but_follows_nothing() -> None:
    lost = asyncio.Event()

    async def done(outcome: Outcome) -> None:
        del outcome

    header = request_header(Sender(name="tester"), "billing")
    request = RequestPrompt(
        **header,
        prompt="Well?",
        context="here",
        conversation_token="t",
        tool_hints=("ls",),
        traceparent="00-1-2-01",
    )
    asks = DefaultDenyPrompter()
    work = work_of(JOB, request, "j-1", done=done, prompter=asks, lost=lost, again=True)
    assert (work.id, work.claimed_by, work.prompt, work.context) == ("one", "one", "Well?", "here")
    assert (work.caller, work.budget) == (Caller(name="tester"), Budget())
    assert (work.traceparent, work.human_paced) == ("00-1-2-01", False)
    assert work.prompter is asks
    checkpoint = work.checkpoint
    assert checkpoint is not None
    assert (checkpoint.resume_id, checkpoint.create_if_missing) == ("j-1", True)
    assert (checkpoint.force, checkpoint.take_over, checkpoint.follow_up) == (True, True, False)
    assert (checkpoint.conversation_token, checkpoint.request) == ("", request.request)
    assert work.lost is lost


def test_a_payload_that_was_never_set_is_no_message() -> None:
    job = Job(id="a", type="t", created=rfc3339_now())
    with pytest.raises(TerminateJobError, match="not a valid v1 message"):
        request_of(job, max_payload=10)
