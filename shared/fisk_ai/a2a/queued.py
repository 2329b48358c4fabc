"""A prompt as a job of a work queue, and the answer that its worker stored with it.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import (
    Budget,
    ErrorTerminal,
    RequestPrompt,
    Result,
    Sender,
    Terminal,
    protocol_of,
)
from fisk_ai.errors import JobError, ProtocolError, TaskError, UsageError
from fisk_ai.jobs.job import DEFAULT_TRIES, Job
from fisk_ai.jobs.names import NAME_LIMIT, valid_name
from fisk_ai.text.clock import rfc3339_now, rfc3339_now_us
from fisk_ai.text.ids import ksuid, valid_token

JOB_TYPE: Final = "fisk-ai:run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A prompt to be run from a queue.

    ``caller`` is who asks, as it claims. ``job_id`` makes a submission idempotent: a second one
    under the same id is refused. ``deadline`` is RFC 3339; a job not begun by then expires.
    ``max_tries`` below 1 has no bound. The budget can only lower what the agent allows.
    """

    prompt: str
    caller: str
    job_id: str = ""
    job_type: str = JOB_TYPE
    deadline: str = ""
    max_tries: int = DEFAULT_TRIES
    max_tokens: int = 0
    max_iterations: int = 0
    context: str = ""

    def job(self) -> Job:
        """Return the job; its id and all other ids are minted where none was given.

        Raises:
            UsageError: prompt, caller, id or type cannot be one.
            MessageTooLargeError: the prompt is over the limit of a message.
        """
        self._check()
        body = codec.encode(self._request())
        return Job(
            id=self.job_id or ksuid(),
            type=self.job_type,
            payload=body,
            deadline=self.deadline,
            max_tries=self.max_tries,
            created=rfc3339_now(),
        )

    def _check(self) -> None:
        if not self.prompt.strip():
            raise UsageError("a job needs a prompt that is not blank", key="PROMPT")
        if not valid_token(self.caller):
            raise UsageError("a caller's name is made of letters, digits, _ and -", key="--caller")
        for name, flag in ((self.job_id or "x", "--id"), (self.job_type, "--type")):
            if not valid_name(name):
                raise UsageError(
                    f"{flag} takes at most {NAME_LIMIT} letters, digits, _, - and :", key=flag
                )

    def _request(self) -> RequestPrompt:
        tag = ksuid()
        budget = Budget(max_tokens=self.max_tokens, max_iterations=self.max_iterations)
        return RequestPrompt(
            id=tag,
            request=tag,
            conversation=tag,
            sequence=0,
            time=rfc3339_now_us(),
            sender=Sender(name=self.caller),
            budget=budget if budget != Budget() else msgspec.UNSET,
            stream=False,
            prompt=self.prompt,
            context=self.context,
        )


class _Stored(msgspec.Struct):
    payload: msgspec.Raw


def request_in(job: Job) -> RequestPrompt | None:
    """Return the prompt that a job carries; ``None`` where it is none, or of somebody else."""
    try:
        message = codec.decode(job.payload or b"")
    except ProtocolError:
        return None
    return message if isinstance(message, RequestPrompt) else None


def terminal_in(job: Job) -> Terminal:
    """Return what a worker stored as the end of a job.

    Raises:
        JobError: nothing is stored, since the job is in another state.
        MessageTooLargeError, ProtocolError: what is stored is no terminal.
    """
    if job.result is None:
        raise JobError(f'the task carries no answer, its state is "{job.state[:40]}"', key=job.id)
    try:
        payload = msgspec.json.decode(job.result, type=_Stored).payload
    except msgspec.MsgspecError as exc:
        raise ProtocolError(f"the stored answer cannot be read: {exc}") from exc
    message = codec.decode(bytes(payload), "the stored answer")
    if not isinstance(message, Result | ErrorTerminal):
        raise ProtocolError(f"{protocol_of(message)} is not a terminal message")
    return message


def answer_in(job: Job) -> Result:
    """Return the answer of a job; raises as :func:`terminal_in`.

    Raises:
        TaskError: its run ended in an error.
    """
    terminal = terminal_in(job)
    if isinstance(terminal, ErrorTerminal):
        raise TaskError(terminal.error, task_code=terminal.code, stop_reason=terminal.stop_reason)
    return terminal
