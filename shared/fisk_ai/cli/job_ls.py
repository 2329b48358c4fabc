"""``fisk-ai job ls``: which jobs there are."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fisk_ai.a2a.queued import request_in
from fisk_ai.cli.job_document import tries_of
from fisk_ai.cli.job_flags import Jobs, parser_of, target_of, with_jobs
from fisk_ai.cli.quoting import command_line
from fisk_ai.cli.session_flags import PAGE_LIMIT, number_of
from fisk_ai.cli.session_table import PROMPT_LIMIT, label
from fisk_ai.cli.times import local_time
from fisk_ai.errors import UsageError
from fisk_ai.jobs.job import STATES, Job
from fisk_ai.render.tables import within
from fisk_ai.render.width import terminal_width
from fisk_ai.text.clock import rfc3339_ns
from fisk_ai.text.sanitise import for_terminal

_HEADER = ("ID", "State", "Tries", "Queue", "Created", "Prompt")
_LEAST = {5: 10, 3: 8}


def ls(argv: Sequence[str]) -> int:
    """List the jobs of a broker."""
    parser = parser_of("ls", "List jobs, newest first.")
    parser.value("--queue", "NAME", "of this queue alone")
    parser.value("--state", "STATE", "in this state alone")
    parser.value("--limit", "N", f"print at most N jobs (default {PAGE_LIMIT})")
    arguments = parser.parse_args(argv)
    state: str | None = arguments.state
    if state is not None and state not in STATES:
        raise UsageError(f"--state takes one of {', '.join(STATES)}", key="--state")
    limit = number_of(arguments.limit, "--limit", least=1, default=PAGE_LIMIT)
    left_out: list[str] = []
    found = with_jobs(target_of(arguments), lambda jobs: _all(jobs, left_out))
    if left_out:
        count = "1 job is" if len(left_out) == 1 else f"{len(left_out)} jobs are"
        why = command_line(("fisk-ai", "job", "show", left_out[0]))
        print(f"{count} left out, which cannot be read; to read why: {why}", file=sys.stderr)
    jobs = [
        job for job in found if state in (None, job.state) and arguments.queue in (None, job.queue)
    ]
    if not jobs:
        print("No jobs")
        return 0
    rows = [_row(job) for job in jobs[:limit]]
    print(within(_HEADER, rows, width=terminal_width(), least=_LEAST, whole=1))
    if len(jobs) > limit:
        print(f"more jobs: pass --limit {len(jobs)}", file=sys.stderr)
    return 0


async def _all(jobs: Jobs, left_out: list[str]) -> list[Job]:
    found = [entry.job async for entry in jobs.store.all(left_out)]
    return sorted(found, key=_made, reverse=True)


def _made(job: Job) -> tuple[int, str]:
    return (rfc3339_ns(job.created) if job.created else 0), job.id


def _row(job: Job) -> tuple[str, ...]:
    request = request_in(job)
    return (
        label(job.id),
        label(job.state) or "unknown",
        tries_of(job),
        label(job.queue),
        local_time(job.created),
        for_terminal(request.prompt, PROMPT_LIMIT) if request else "",
    )
