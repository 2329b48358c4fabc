"""How a run of a job ended, as the engine of its queue has to know it.

The first row that fits decides. Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import UNSET

from agent_worker.channels.terminals import usage_of
from fisk_ai.a2a import codec
from fisk_ai.a2a.codes import STOP_REASONS, words_of
from fisk_ai.a2a.messages import (
    ErrorTerminal,
    RequestPrompt,
    Result,
    Terminal,
    reply_header,
)
from fisk_ai.errors import MessageTooLargeError, PromptAbortedError
from fisk_ai.jobs.processing import RetryJobError, TerminateJobError
from fisk_ai.serving.contract import Outcome
from fisk_ai.sessions.records import Reason
from fisk_ai.text.gojson import RawJSON

_UNSAID = "the run failed inside the worker"


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a job, by whom it is answered, and in which session."""

    request: RequestPrompt
    identity: str
    session: str


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What is stored as the result of a job."""

    asked: Asked
    terminal: Terminal

    def payload(self) -> RawJSON:
        """Return the terminal, or what is said where it is too large for any message."""
        try:
            return RawJSON(codec.encode(self.terminal))
        except MessageTooLargeError as exc:
            return self.payload_instead(exc)

    def payload_instead(self, error: Exception) -> RawJSON:
        """Return a short error in place of the terminal."""
        text = (
            f"the answer could not be stored with its job: {error};"
            f" it is in session {self.asked.session}"
        )
        header = reply_header(self.asked.request, self.asked.identity)
        short = ErrorTerminal(**header, error=text, stop_reason="error", usage=self.terminal.usage)
        return RawJSON(codec.encode(short))


def answer_of(outcome: Outcome, asked: Asked) -> JobAnswer:
    """Return what is stored of a run that ended.

    Raises:
        TerminateJobError: nobody is to try the job again, before somebody did something.
        RetryJobError: another try goes on where this one stopped.
    """
    if outcome.rejected:
        raise TerminateJobError("the work was refused")
    if outcome.crashed:
        raise TerminateJobError("the run crashed")
    if outcome.abandoned:
        raise RetryJobError("the work was taken but never started")
    if outcome.deferred:
        calls = ",".join(call.tool_use_id for call in outcome.deferred)
        raise TerminateJobError(
            "the run is waiting on a deferred tool result; answer session"
            f" {asked.session} tool_use {calls}, then retry this task"
        )
    if outcome.reason == "suspended" and isinstance(outcome.error, PromptAbortedError):
        # Tried again it would park again, until its tries are used up.
        raise TerminateJobError(
            f"the run is waiting on an operator; approve or deny a call of session {asked.session},"
            " then retry this task"
        )
    if outcome.reason == "suspended":
        raise RetryJobError("the run suspended and left a resumable session")
    if outcome.reason is None:
        raise RetryJobError(f"the run reached no outcome: {_why(outcome)}")
    return JobAnswer(asked, _terminal(outcome, outcome.reason, asked))


def _why(outcome: Outcome) -> str:
    if outcome.error is not None:
        return words_of(outcome.error, _UNSAID)
    if outcome.canceled:
        return "the worker stopped the run"
    return "the run reported neither an outcome nor an error"


def _terminal(outcome: Outcome, reason: Reason, asked: Asked) -> Terminal:
    header = reply_header(asked.request, asked.identity)
    usage = UNSET if outcome.stats is None else usage_of(outcome.stats)
    stop_reason = STOP_REASONS[reason]
    if outcome.error is not None:
        error = words_of(outcome.error, _UNSAID)
        return ErrorTerminal(**header, error=error, stop_reason=stop_reason, usage=usage)
    return Result(**header, stop_reason=stop_reason, text=outcome.text, usage=usage)
