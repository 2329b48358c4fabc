"""Where the asyncjobs engine keeps what, and which names may stand there.

Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

import re
from typing import Final

JOBS_STREAM: Final = "CHORIA_AJ_TASKS"
JOB_SUBJECTS: Final = "CHORIA_AJ.T.*"
EVENT_SUBJECTS: Final = "CHORIA_AJ.E.task_state.*"

CONSUMER: Final = "WORKERS"
"""The durable consumer of every queue; its settings are the terms of the queue."""

CONFIGURATION_BUCKET: Final = "CHORIA_AJ_CONFIGURATION"
ELECTIONS_BUCKET: Final = "CHORIA_AJ_ELECTIONS"
"""Buckets that a worker written in Go wants to see; we read neither."""


NAME_LIMIT: Final = 128
"""Longest id or type of a job, and name of a queue, which is a part of a stream's name."""

_NAME = re.compile(r"[a-zA-Z0-9_:-]+")


def valid_name(name: str) -> bool:
    """Say whether ``name`` may be the id or the type of a job, or a queue: tokens of subjects."""
    return len(name) <= NAME_LIMIT and _NAME.fullmatch(name) is not None


def job_subject(job_id: str) -> str:
    """Return where the record of a job lies."""
    return f"CHORIA_AJ.T.{job_id}"


def job_of(subject: str) -> str:
    """Return the job whose record lies at ``subject``."""
    return subject.rpartition(".")[2]


def event_subject(job_id: str) -> str:
    """Return where changes of a job are told."""
    return f"CHORIA_AJ.E.task_state.{job_id}"


def queue_stream(queue: str) -> str:
    """Return the stream that holds the items of a queue."""
    return f"CHORIA_AJ_Q_{queue}"


def queue_subjects(queue: str) -> str:
    """Return the subjects of all items of a queue."""
    return f"CHORIA_AJ.Q.{queue}.>"


def item_subject(queue: str, job_id: str) -> str:
    """Return where the item of a job lies in a queue."""
    return f"CHORIA_AJ.Q.{queue}.{job_id}"
