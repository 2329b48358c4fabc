"""What becomes of an item before anything runs: decided from the record of its job alone.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fisk_ai.jobs.job import ACTIVE, BLOCKED, COMPLETE, EXPIRED, UNREACHABLE, Job
from fisk_ai.text.clock import rfc3339_ns


class Verdict(StrEnum):
    """What is to be done with an item whose job was found."""

    LEAVE = "leave"
    """Another worker has it, or will meet its end: the lease lapses."""

    DONE = "done"
    """The job is over; its item goes."""

    EXPIRE = "expire"
    """The job is over from now on; the item's next delivery meets that."""

    PARENTS = "parents"
    """Other jobs decide."""

    RUN = "run"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a decision is taken, and how long an item is leased, in nanoseconds."""

    now_ns: int
    run_time_ns: int


def judge(job: Job, moment: Moment) -> Verdict:
    """Return what becomes of the item of ``job``; its times can be read, as :func:`decode` saw."""
    if job.state == ACTIVE and _is_at_work(job, moment):
        return Verdict.LEAVE
    if job.state in (COMPLETE, EXPIRED, UNREACHABLE):
        return Verdict.DONE
    if job.deadline and rfc3339_ns(job.deadline) < moment.now_ns:
        return Verdict.EXPIRE
    if 0 < job.max_tries <= job.tries:
        return Verdict.EXPIRE
    if job.state == BLOCKED and job.dependencies:
        return Verdict.PARENTS
    return Verdict.RUN


def _is_at_work(job: Job, moment: Moment) -> bool:
    return not job.tried or moment.now_ns - rfc3339_ns(job.tried) < moment.run_time_ns
