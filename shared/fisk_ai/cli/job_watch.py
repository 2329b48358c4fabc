"""``fisk-ai job watch``: what becomes of a job, or of all, while it happens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from fisk_ai.cli.job_document import LINE_LIMIT, line_of
from fisk_ai.cli.job_flags import Jobs, parser_of, target_of, with_jobs
from fisk_ai.cli.session_table import label
from fisk_ai.jobs.events import StateEvent
from fisk_ai.jobs.job import COMPLETE
from fisk_ai.jobs.watching import changes, follow
from fisk_ai.text.sanitise import for_terminal


def watch(argv: Sequence[str]) -> int:
    """Watch the job that the arguments name, or all of them."""
    parser = parser_of("watch", "Tell what becomes of a job until it ended, or of all jobs.")
    parser.add_argument("id", nargs="?", help="the job's id; all jobs without one")
    arguments = parser.parse_args(argv)
    job_id: str | None = arguments.id
    return with_jobs(
        target_of(arguments), lambda jobs: _one(jobs, job_id) if job_id else _all(jobs)
    )


async def _one(jobs: Jobs, job_id: str) -> int:
    """Print each change; whether it ended with an answer is the exit code."""
    state = ""
    async with aclosing(follow(jobs.connection, jobs.store, job_id)) as states:
        async for job in states:
            state = job.state
            print(line_of(job), flush=True)
    return 0 if state == COMPLETE else 1


async def _all(jobs: Jobs) -> int:
    async with aclosing(changes(jobs.connection)) as told:
        async for event in told:
            print(_line(event), flush=True)
    return 0


def _line(event: StateEvent) -> str:
    why = f": {for_terminal(event.last_error, LINE_LIMIT)}" if event.last_error else ""
    return f"{label(event.task_id)} {label(event.state) or 'unknown'} (try {event.tries}){why}"
