"""``fisk-ai job submit``: a prompt put into a queue, and perhaps waited for."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing

from fisk_ai.a2a.queued import Submission, answer_in
from fisk_ai.cli.job_document import line_of
from fisk_ai.cli.job_flags import Jobs, Target, parser_of, target_of, with_jobs
from fisk_ai.cli.session_flags import number_of
from fisk_ai.errors import JobConflictError, JobError, UsageError
from fisk_ai.jobs.job import COMPLETE, DEFAULT_TRIES, Job
from fisk_ai.jobs.store import Entry
from fisk_ai.jobs.watching import follow
from fisk_ai.text.clock import rfc3339, rfc3339_ns
from fisk_ai.text.ids import valid_token
from fisk_ai.text.sanitise import for_display

CALLER = "fisk-ai"
"""Who asks where the account of this machine has no name that can be one."""

_NS = 1_000_000_000


def submit(argv: Sequence[str]) -> int:
    """Submit the prompt that the arguments hold."""
    parser = parser_of("submit", "Put a prompt into a work queue.")
    parser.add_argument("words", nargs="+", metavar="PROMPT", help="what the agent is to do")
    parser.value("--queue", "NAME", "the queue (default FISK_AI)")
    parser.value("--id", "ID", "the job's id: a second submission under it is none")
    parser.value("--caller", "NAME", "who asks (default your account's name)")
    parser.value("--deadline", "WHEN", "not to be begun after a duration such as 1h, or a time")
    parser.value("--tries", "N", f"how often it is tried, 0 is always (default {DEFAULT_TRIES})")
    parser.value("--max-tokens", "N", "lower the token budget")
    parser.value("--max-iterations", "N", "lower the number of model calls")
    parser.switch("--wait", "wait for the answer and print it")
    arguments = parser.parse_args(argv)
    target = target_of(arguments)
    job = _submission(arguments, target).job()
    waits = bool(arguments.wait)
    done = with_jobs(target, lambda jobs: _submit(jobs, job, target.queue, waits=waits))
    if done is not None:
        print(for_display(answer_in(done).text))
    return 0


def _submission(arguments: argparse.Namespace, target: Target) -> Submission:
    return Submission(
        prompt=" ".join(arguments.words),
        caller=arguments.caller if arguments.caller is not None else _account(),
        job_id=arguments.id or "",
        job_type=target.job_type,
        deadline=_deadline(arguments.deadline),
        max_tries=number_of(arguments.tries, "--tries", least=0, default=DEFAULT_TRIES),
        max_tokens=number_of(arguments.max_tokens, "--max-tokens", least=1, default=0),
        max_iterations=number_of(arguments.max_iterations, "--max-iterations", least=1, default=0),
    )


async def _submit(jobs: Jobs, job: Job, queue: str, *, waits: bool) -> Job | None:
    """Store and queue a job; when it is waited for, return it once it is complete.

    Raises:
        JobError: it was not taken, or came to another end.
    """
    try:
        await jobs.store.enqueue(Entry(job), queue)
    except JobConflictError:
        print(f"job {job.id} was submitted before; nothing was stored", file=sys.stderr)
    if not waits:
        print(job.id)
        return None
    print(f"job {job.id}", file=sys.stderr)
    async with aclosing(follow(jobs.connection, jobs.store, job.id)) as states:
        async for state in states:
            job = state
    if job.state != COMPLETE:
        raise JobError(f"job {line_of(job)}", key=job.id)
    return job


def _deadline(text: str | None) -> str:
    """Return the moment that was meant, empty where there is none."""
    if text is None:
        return ""
    try:
        rfc3339_ns(text)
    except ValueError:
        return rfc3339(time.time_ns() + int(_length_s(text) * _NS))
    return text


def _length_s(text: str) -> float:
    from fisk_ai.config import parse_duration  # noqa: PLC0415 - pydantic, seldom asked for
    from fisk_ai.errors import ConfigError  # noqa: PLC0415 - as above

    try:
        length_s = parse_duration(text)
    except ConfigError as exc:
        raise UsageError(
            "--deadline takes a duration such as 1h, or a time such as 2026-01-31T12:00:00Z",
            key="--deadline",
        ) from exc
    if length_s <= 0:
        raise UsageError("--deadline takes a duration above zero", key="--deadline")
    return length_s


def _account() -> str:
    name = os.environ.get("USER", "")
    return name if valid_token(name) else CALLER
