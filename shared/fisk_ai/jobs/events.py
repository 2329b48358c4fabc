"""What is told of every change of a job: not stored, not guaranteed, so that watchers read again.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec

from fisk_ai.errors import JobError
from fisk_ai.jobs.job import Job
from fisk_ai.text import gojson
from fisk_ai.text.clock import rfc3339, rfc3339_ns
from fisk_ai.text.ids import ksuid, ksuid_time_s

STATE_EVENT: Final = "io.choria.asyncjobs.v1.task_state"

_NS: Final = 1_000_000_000


class StateEvent(msgspec.Struct, frozen=True):
    """A job came into a state; ``task_age`` is in nanoseconds."""

    event_id: str
    type: str
    timestamp: str
    task_id: str
    state: str
    tries: int
    queue: str = ""
    task_type: str = ""
    last_error: str = ""
    task_age: int = 0


class _Kind(msgspec.Struct):
    type: str = ""


def encode(job: Job) -> bytes:
    """Return the event that tells the state of ``job`` now."""
    event_id = ksuid()
    age = time.time_ns() - rfc3339_ns(job.created) if job.created else 0
    members: dict[str, object] = {
        "event_id": event_id,
        "type": STATE_EVENT,
        "timestamp": rfc3339(ksuid_time_s(event_id) * _NS),
        "task_id": job.id,
        "state": job.state,
        "tries": job.tries,
        **({"queue": job.queue} if job.queue else {}),
        "task_type": job.type,
        **({"last_error": job.last_err} if job.last_err else {}),
        **({"task_age": age} if age else {}),
    }
    return gojson.dumps(members)


def decode(body: bytes) -> StateEvent:
    """Read an event.

    Raises:
        JobError: it is of another type, which a watcher passes over, or none at all.
    """
    try:
        kind = msgspec.json.decode(body, type=_Kind).type
        if kind != STATE_EVENT:
            raise JobError(f"unknown event type: {kind[:200]}")
        return msgspec.json.decode(body, type=StateEvent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise JobError(f"an event cannot be read: {exc}") from exc
