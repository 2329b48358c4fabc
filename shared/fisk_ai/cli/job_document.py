"""One job for a person, and as JSON; every text of it was written by others."""

from __future__ import annotations

import json

import msgspec

from fisk_ai.a2a.messages import ErrorTerminal, Terminal
from fisk_ai.a2a.queued import request_in, terminal_in
from fisk_ai.cli.session_table import label
from fisk_ai.cli.times import local_time
from fisk_ai.errors import JobError, ProtocolError
from fisk_ai.jobs.job import Job
from fisk_ai.render.tables import Document
from fisk_ai.sessions.ids import session_id_for_job
from fisk_ai.text.sanitise import for_display, for_terminal, truncate

PROMPT_LIMIT = 200
"""Code points of a prompt on a page; ``--json`` has all of it."""

LINE_LIMIT = 2_000
"""Code points of the line that says why a try failed."""


def page(job: Job, identity: str = "") -> str:
    """Return a job for a person; ``identity`` is the agent that works on it, where it is known."""
    request, terminal = request_in(job), _terminal(job)
    found = Document(f"Job {label(job.id)}")
    found.optional("Caller", label(request.sender.name) if request else "")
    found.item("State", label(job.state) or "unknown")
    found.optional("Queue", label(job.queue))
    found.item("Type", label(job.type))
    found.optional("Session", session_of(job, identity))
    found.item("Created", local_time(job.created))
    found.optional("Last try", local_time(job.tried) if job.tried else "")
    found.optional("Deadline", local_time(job.deadline) if job.deadline else "")
    found.item("Tries", tries_of(job))
    found.optional("Last error", for_terminal(job.last_err, LINE_LIMIT))
    found.section("Prompt", _lines(truncate(request.prompt, PROMPT_LIMIT)) if request else [])
    if isinstance(terminal, ErrorTerminal):
        found.section(f"Error ({label(terminal.stop_reason)})", _lines(terminal.error))
    elif terminal is not None:
        found.section("Answer", _lines(terminal.text))
    return found.text()


def as_json(job: Job, identity: str = "") -> str:
    """Return a job for other programs, in ASCII, so that nothing acts on a terminal."""
    request, terminal = request_in(job), _terminal(job)
    members: dict[str, object] = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "state": job.state,
        "created": job.created,
        "tried": job.tried,
        "deadline": job.deadline,
        "tries": job.tries,
        "max_tries": job.max_tries,
        "last_error": job.last_err,
        "session": session_of(job, identity),
        "caller": request.sender.name if request else "",
        "prompt": request.prompt if request else "",
        "result": msgspec.to_builtins(terminal) if terminal is not None else None,
    }
    return json.dumps(members)


def line_of(job: Job) -> str:
    """Return what became of a job so far, in one line."""
    why = f": {for_terminal(job.last_err, LINE_LIMIT)}" if job.last_err else ""
    return f"{label(job.id)} {label(job.state) or 'unknown'} (try {tries_of(job)}){why}"


def tries_of(job: Job) -> str:
    """Return how often a job was tried, and how often it may be."""
    return f"{job.tries} of {job.max_tries}" if job.max_tries > 0 else str(job.tries)


def session_of(job: Job, identity: str = "") -> str:
    """Return the session of a job, empty while nobody knows which agent works on it."""
    terminal = _terminal(job)
    agent = identity or (terminal.sender.name if terminal is not None else "")
    return session_id_for_job(agent, job.id) if agent else ""


def _terminal(job: Job) -> Terminal | None:
    """Return what a worker stored; ``None`` also for what another kind of worker did."""
    try:
        return terminal_in(job)
    except (JobError, ProtocolError):
        return None


def _lines(text: str) -> list[str]:
    shown = for_display(text)
    return shown.split("\n") if shown else []
