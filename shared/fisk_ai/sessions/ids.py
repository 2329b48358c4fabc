"""How a channel's own name for a conversation becomes a session id.

A session id is no secret, so no caller ever chooses one: hashing keeps foreign text out of file
names and subjects, and whoever learned an id cannot ask for its session. The prefix keeps channels
apart. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import hashlib

from fisk_ai.text.sanitise import clean_surrogates

PROMPT_PREFIX = "t-"
"""Sessions of served prompts, named by the conversation token their caller holds."""

JOB_PREFIX = "j-"
"""Sessions of queued jobs, named by the id of the job."""

SLACK_PREFIX = "s-"
"""Sessions of threads in Slack, named by team, channel and first message."""


def session_id_for_token(identity: str, token: str) -> str:
    """Return the session of an agent's conversation; neither part may hold a NUL."""
    return PROMPT_PREFIX + _hash(identity, token)


def session_id_for_job(identity: str, job_id: str) -> str:
    """Return the session of an agent's job, the same at every try; neither may hold a NUL."""
    return JOB_PREFIX + _hash(identity, job_id)


def session_id_for_thread(prefix: str, identity: str, thread: tuple[str, ...]) -> str:
    """Return the session of a thread that a gateway names; no part may hold a NUL."""
    return prefix + _hash(identity, *thread)


def _hash(*fields: str) -> str:
    joined = clean_surrogates("\0".join(fields))
    return hashlib.sha256(joined.encode()).hexdigest()
