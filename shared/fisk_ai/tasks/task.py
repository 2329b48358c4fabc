"""One task: its request, its result, and the bytes that hold both.

The messages are kept as they travelled, without insignificant white space, so that a stored one
passes the checks of one on the wire. What a queue does with a task is the queue's to say: a state
here is only what the store itself can know. Rules: ``docs/reference/tasks.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from fisk_ai.errors import CorruptError, InvalidIdError, InvalidRequestError
from fisk_ai.text import clock, rawjson
from fisk_ai.text.gojson import RawJSON, dumps, loads
from fisk_ai.text.ids import valid_session_id

State = Literal["submitted", "completed"]

MESSAGE_LIMIT_BYTES = 1_048_576
"""Largest request or result: no broker carries more as it comes."""

REQUESTS = frozenset(
    f"io.choria.fisk-ai.v1.request.{what}" for what in ("prompt", "answer", "resume", "read")
)
"""Messages that a task can be made of."""

_MISSING = RawJSON(b"null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What was asked and what came back; both are JSON texts, times are RFC 3339."""

    id: str
    state: State = "submitted"
    request: bytes
    submitted: str
    result: bytes = b""
    completed: str = ""


def check_id(task_id: str) -> None:
    """Refuse an id that would become a path, a flag or a wildcard.

    Raises:
        InvalidIdError: letters, digits, ``_`` and ``-`` alone can name a task.
    """
    if not valid_session_id(task_id):
        raise InvalidIdError(
            f"{task_id[:140]!r} cannot name a task: letters, digits, _ and - alone, a letter or "
            "digit first, at most 128 characters"
        )


def submitted(request: bytes, *, time: str) -> Task:
    """Return the task that ``request`` asks for; its id is the message's own ``request`` tag.

    Raises:
        InvalidRequestError: no JSON object, no request, or no tag that can name a task.
    """
    members = _message(request, "request")
    protocol = _text(members, "protocol")
    if protocol not in REQUESTS:
        raise InvalidRequestError(
            f"{protocol[:64]!r} is no request that a task can be made of; submit one of "
            f"{' '.join(sorted(name.rpartition('v1.')[2] for name in REQUESTS))}"
        )
    tag = _text(members, "request")
    if not valid_session_id(tag):
        raise InvalidRequestError(f"the request tag {tag[:140]!r} cannot name a task")
    return Task(id=tag, request=_compact(request), submitted=time)


def completed(task: Task, result: bytes, *, time: str) -> Task:
    """Return ``task`` with its result.

    Raises:
        InvalidRequestError: no JSON object, or the message answers another request.
    """
    tag = _text(_message(result, "result"), "request")
    if tag != task.id:
        raise InvalidRequestError(
            f"a message that answers request {tag[:140]!r} is no result of task {task.id}"
        )
    return Task(
        id=task.id,
        state="completed",
        request=task.request,
        submitted=task.submitted,
        result=_compact(result),
        completed=time,
    )


def encode(task: Task) -> bytes:
    """Return the task's bytes, without a newline."""
    members: dict[str, object] = {
        "id": task.id,
        "state": task.state,
        "request": RawJSON(task.request),
        "submitted": task.submitted,
    }
    if task.result:
        members["result"] = RawJSON(task.result)
    if task.completed:
        members["completed"] = task.completed
    return dumps(members)


def decode(body: bytes, name: str) -> Task:
    """Read a task back from what is called ``name``; keys that are not known are ignored.

    Raises:
        CorruptError: not one JSON object, or a key is missing or of the wrong type.
    """
    try:
        return _read(rawjson.members(body))
    except ValueError as exc:
        raise CorruptError(f"{name} holds no task: {exc}; restore or remove it") from exc


def _read(members: Mapping[str, RawJSON]) -> Task:
    state = _text(members, "state")
    if state not in get_args(State):
        raise ValueError(f"state is {state[:64]!r}")
    task_id, request = _text(members, "id"), members.get("request", _MISSING)
    if not valid_session_id(task_id) or request == _MISSING:
        raise ValueError("id or request is missing")
    result = members.get("result", _MISSING)
    if (result == _MISSING) is (state == "completed"):
        raise ValueError(f"a {state} task with {'no' if state == 'completed' else 'a'} result")
    return Task(
        id=task_id,
        state=cast("State", state),
        request=bytes(request),
        submitted=_time(members, "submitted"),
        result=b"" if result == _MISSING else bytes(result),
        completed=_time(members, "completed") if "completed" in members else "",
    )


def _message(raw: bytes, what: str) -> Mapping[str, RawJSON]:
    if len(raw) > MESSAGE_LIMIT_BYTES:
        raise InvalidRequestError(
            f"the {what} has {len(raw)} bytes, at most {MESSAGE_LIMIT_BYTES} are stored"
        )
    try:
        return rawjson.members(raw)
    except ValueError as exc:
        raise InvalidRequestError(f"the {what} is no JSON object: {exc}") from exc


def _compact(raw: bytes) -> bytes:
    return dumps(RawJSON(raw))


def _text(members: Mapping[str, RawJSON], key: str) -> str:
    value = loads(members.get(key, _MISSING))
    return value if isinstance(value, str) else ""


def _time(members: Mapping[str, RawJSON], key: str) -> str:
    text = _text(members, key)
    clock.rfc3339_ns(text)
    return text
