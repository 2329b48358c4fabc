"""A job as it is stored: the JSON of the asyncjobs engine, in its very bytes.

Decided here: times stay the text they were written as, since a signature covers their nanoseconds,
and members that are not known are kept behind those that are.
Rules: ``docs/reference/jobs.md``.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from fisk_ai.errors import DamagedJobError
from fisk_ai.text import gojson, rawjson
from fisk_ai.text.clock import rfc3339_ns
from fisk_ai.text.gojson import RawJSON

NEW: Final = "new"
ACTIVE: Final = "active"
RETRY: Final = "retry"
EXPIRED: Final = "expired"
TERMINATED: Final = "terminated"
COMPLETE: Final = "complete"
QUEUE_ERROR: Final = "queue_error"
BLOCKED: Final = "blocked"
UNREACHABLE: Final = "unreachable"

STATES: Final = (
    NEW,
    ACTIVE,
    RETRY,
    EXPIRED,
    TERMINATED,
    COMPLETE,
    QUEUE_ERROR,
    BLOCKED,
    UNREACHABLE,
)
"""Every state that is written; one that was never set is the empty text."""

ENDED: Final = (COMPLETE, EXPIRED, TERMINATED, UNREACHABLE)
"""States that a job leaves only when somebody retries it."""

DEFAULT_TRIES: Final = 10
"""Tries of a job whose producer names no number; 0 and less are without limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job; times are RFC 3339 text, empty where there is none.

    ``result`` and ``dependency_results`` are the JSON text of others. ``extra`` holds what no
    reader of this release knows.
    """

    id: str
    type: str
    queue: str = ""
    dependencies: tuple[str, ...] = ()
    dependency_results: RawJSON | None = None
    load_dependencies: bool = False
    payload: bytes | None = None
    deadline: str = ""
    max_tries: int = DEFAULT_TRIES
    result: RawJSON | None = None
    state: str = NEW
    created: str
    tried: str = ""
    tries: int = 0
    last_err: str = ""
    signature: str = ""
    extra: Mapping[str, RawJSON] = field(default_factory=dict[str, RawJSON])


class _Wire(msgspec.Struct):
    """What is read of a record, beside results, whose text is kept; absent and null are zero."""

    id: str | None = None
    type: str | None = None
    queue: str | None = None
    dependencies: list[str] | None = None
    load_dependencies: bool | None = None
    payload: str | None = None
    deadline: str | None = None
    max_tries: int | None = None
    state: str | None = None
    created: str | None = None
    tried: str | None = None
    tries: int | None = None
    last_err: str | None = None
    signature: str | None = None


def encode(job: Job) -> bytes:
    """Return the record of a job: members in the engine's order, empty ones left out."""
    payload = None if job.payload is None else b64encode(job.payload).decode()
    members: dict[str, object] = {
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        **_unless_empty("dependencies", list(job.dependencies)),
        **_unless_empty("dependency_results", job.dependency_results),
        **_unless_empty("load_dependencies", job.load_dependencies),
        "payload": payload,
        **_unless_empty("deadline", job.deadline),
        "max_tries": job.max_tries,
        **_unless_empty("result", job.result),
        "state": job.state,
        "created": job.created,
        **_unless_empty("tried", job.tried),
        "tries": job.tries,
        **_unless_empty("last_err", job.last_err),
        **_unless_empty("signature", job.signature),
        **job.extra,
    }
    return gojson.dumps(members)


def decode(body: bytes) -> Job:
    """Read the record of a job.

    Raises:
        DamagedJobError: it is none.
    """
    try:
        raw = gojson.mended(body)
        members = rawjson.members(raw)
        wire = msgspec.json.decode(raw, type=_Wire)
        times = [text for text in (wire.created, wire.deadline, wire.tried) if text]
        for text in times:
            rfc3339_ns(text)
        return Job(
            id=wire.id or "",
            type=wire.type or "",
            queue=wire.queue or "",
            dependencies=tuple(wire.dependencies or ()),
            dependency_results=_raw(members, "dependency_results"),
            load_dependencies=bool(wire.load_dependencies),
            payload=None if wire.payload is None else b64decode(wire.payload, validate=True),
            deadline=wire.deadline or "",
            max_tries=wire.max_tries or 0,
            result=_raw(members, "result"),
            state=wire.state or "",
            created=wire.created or "",
            tried=wire.tried or "",
            tries=wire.tries or 0,
            last_err=wire.last_err or "",
            signature=wire.signature or "",
            extra={key: value for key, value in members.items() if key not in _KNOWN},
        )
    except (ValueError, RecursionError, msgspec.MsgspecError) as exc:
        raise DamagedJobError(f"the record of a job cannot be read: {exc}") from exc


_KNOWN: Final = frozenset({*_Wire.__struct_fields__, "dependency_results", "result"})


def _raw(members: Mapping[str, RawJSON], name: str) -> RawJSON | None:
    found = members.get(name)
    return None if found is None or found == b"null" else found


def _unless_empty(name: str, value: object) -> dict[str, object]:
    return {name: value} if value else {}
