"""``fisk-ai job retry``: a job that ended or hangs, tried again."""

from __future__ import annotations

from collections.abc import Sequence

from fisk_ai.cli.job_flags import Jobs, parser_of, target_of, with_jobs
from fisk_ai.jobs.job import Job


def retry(argv: Sequence[str]) -> int:
    """Retry the job that the arguments name."""
    parser = parser_of("retry", "Have a job tried again; what it counted stays.")
    parser.add_argument("id", help="the job's id")
    parser.value("--queue", "NAME", "the queue it is put into (default that it was in)")
    arguments = parser.parse_args(argv)
    target = target_of(arguments)
    typed: str | None = arguments.queue
    job = with_jobs(target, lambda jobs: _retry(jobs, arguments.id, typed or "", target.queue))
    print(f"job {job.id} is queued in {job.queue} again")
    return 0


async def _retry(jobs: Jobs, job_id: str, typed: str, otherwise: str) -> Job:
    """Queue a job where it was, unless a queue was named: a retry moves it there."""
    was = (await jobs.store.load(job_id)).job.queue
    return (await jobs.store.retry(job_id, typed or was or otherwise)).job
