"""Jobs that wait for other jobs.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fisk_ai.errors import BusError, JobError, NoJobError
from fisk_ai.jobs.job import COMPLETE, EXPIRED, QUEUE_ERROR, TERMINATED, Job
from fisk_ai.jobs.store import JobStore
from fisk_ai.text import gojson
from fisk_ai.text.gojson import RawJSON

_FAILED = (EXPIRED, TERMINATED, QUEUE_ERROR, "")
"""States of a parent after which its children never run."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Every parent is complete; ``results`` are theirs, where the job wants them."""

    results: RawJSON | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A parent never completes; ``reason`` names it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A parent is not over yet, or could not be looked at."""


async def look_at_parents(store: JobStore, job: Job) -> Ready | Failed | Waiting:
    """Look at every job that ``job`` waits for; one that failed counts before one that waits."""
    parents: list[Job] = []
    waits = False
    for parent_id in job.dependencies:
        try:
            parent = (await store.load(parent_id)).job
        except NoJobError:
            return Failed(f"task dependencies failed: task not found: {parent_id[:128]}")
        except (JobError, BusError):
            waits = True
            continue
        if parent.state in _FAILED:
            state = parent.state or "unknown"
            return Failed(f"task dependencies failed: task {parent_id} is {state}")
        waits |= parent.state != COMPLETE
        parents.append(parent)
    if waits:
        return Waiting()
    return Ready(_results(parents) if job.load_dependencies else None)


def _results(parents: Sequence[Job]) -> RawJSON | None:
    found = {job.id: job.result for job in parents if job.result is not None}
    return RawJSON(gojson.dumps({key: found[key] for key in sorted(found)})) if found else None
