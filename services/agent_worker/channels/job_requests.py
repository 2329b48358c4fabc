"""What a job asks for: its payload checked, and the work that does it.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from agent_worker.channels.work import budget_of
from fisk_ai.a2a import codec
from fisk_ai.a2a.messages import NAMESPACE, RequestPrompt
from fisk_ai.agent.options import Checkpoint
from fisk_ai.errors import ProtocolError
from fisk_ai.jobs.job import Job
from fisk_ai.jobs.processing import TerminateJobError
from fisk_ai.serving.contract import Caller, Outcome, Work
from fisk_ai.toolkit.prompter import Prompter

_log = logging.getLogger("agent_worker.jobs")


def request_of(job: Job, *, max_payload: int) -> RequestPrompt:
    """Return the prompt that a job carries.

    Raises:
        TerminateJobError: it carries none that may be run; another try would find the same.
    """
    payload = job.payload or b""
    if len(payload) > max_payload:
        raise TerminateJobError(
            f"the payload is {len(payload)} bytes, over the {max_payload} byte limit"
        )
    try:
        message = codec.decode(payload, "the payload")
    except ProtocolError as exc:
        _log.warning("job %s is not run: %s", job.id, exc)
        raise TerminateJobError("the payload is not a valid v1 message") from exc
    if not isinstance(message, RequestPrompt):
        raise TerminateJobError(f"the payload is not a {NAMESPACE}.request.prompt message")
    return message


def work_of(
    job: Job,
    request: RequestPrompt,
    session: str,
    *,
    done: Callable[[Outcome], Awaitable[None]],
    prompter: Prompter,
    lost: asyncio.Event,
    again: bool,
) -> Work:
    """Return the work of a job; ``again`` says that its item was delivered before.

    Nobody can force a job: a prompt that was edited since it began must not end it. Nobody is asked
    about one, so that ``prompter`` denies, or parks the run for an operator. What else a request
    may carry, a token, replays, events, is for callers that listen, and passed over.
    """
    return Work(
        id=job.id,
        done=done,
        prompt=request.prompt,
        context=request.context,
        checkpoint=Checkpoint(
            resume_id=session,
            create_if_missing=True,
            force=True,
            take_over=again,
            request=request.request,
        ),
        claimed_by=job.id,
        budget=budget_of(request.budget),
        caller=Caller(name=request.sender.name),
        prompter=prompter,
        traceparent=request.traceparent,
        lost=lost,
    )
