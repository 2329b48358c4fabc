"""What every task store promises, written once and run for each backend.

Parametrise a test with :data:`CHECKS` and hand each one a fresh store::

    @pytest.mark.parametrize("check", task_store.CHECKS, ids=task_store.name_of)
    async def test_file_tasks(check, tmp_path):
        await check(FileTasks(tmp_path))

Rules: ``docs/reference/tasks.md``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from fisk_ai.errors import (
    ExistsError,
    InvalidIdError,
    InvalidRequestError,
    NotFoundError,
    TaskCompletedError,
)
from fisk_ai.tasks.store import TaskStore
from fisk_ai.tasks.task import MESSAGE_LIMIT_BYTES, Task
from fisk_ai.testing.session_store import HOSTILE_IDS

Check = Callable[[TaskStore], Awaitable[None]]


def name_of(check: Check) -> str:
    """Return a check's name, for the ids of parametrised tests."""
    return getattr(check, "__name__", "check")


def request(tag: str = "one", what: str = "prompt", **body: object) -> bytes:
    """Return a request message, with white space that a store drops."""
    header = {"protocol": f"io.choria.fisk-ai.v1.request.{what}", "id": "m1", "request": tag}
    return json.dumps(header | body, indent=1, ensure_ascii=False).encode()


def result(text: str = "done", tag: str = "one") -> bytes:
    """Return the terminal message of a request."""
    message = {"protocol": "io.choria.fisk-ai.v1.result", "id": "m2", "request": tag, "text": text}
    return json.dumps(message).encode()


async def a_submitted_task_is_loaded_as_it_was_asked(store: TaskStore) -> None:
    """The message stays what it was, in its own spelling and without white space."""
    asked = request(prompt="<b>é\u2028\U0001f600", n=[1.5, 1])
    made = await store.submit(asked)
    assert (made.id, made.state, made.result, made.completed) == ("one", "submitted", b"", "")
    assert made.submitted
    loaded = await store.load("one")
    assert loaded == made
    assert json.loads(loaded.request) == json.loads(asked)
    assert b" " not in loaded.request
    assert b"1.5" in loaded.request


async def every_request_message_makes_a_task(store: TaskStore) -> None:
    """The turn is named by its ``request`` tag, whatever it asks for."""
    for what in ("prompt", "answer", "resume", "read"):
        assert (await store.submit(request(what, what))).id == what


async def what_is_no_request_makes_no_task(store: TaskStore) -> None:
    """No JSON object, another message, no tag, or more than any broker carries."""
    for body in (
        b"",
        b"null",
        b"[]",
        b'{"a":}',
        b"\xff",
        b"{}",
        request(what="bribe"),
        request().replace(b"request.prompt", b"result"),
        json.dumps({"protocol": "io.choria.fisk-ai.v1.request.prompt"}).encode(),
        json.dumps({"protocol": "io.choria.fisk-ai.v1.request.prompt", "request": 1}).encode(),
        request(prompt="x" * MESSAGE_LIMIT_BYTES),
        *(request(tag) for tag in HOSTILE_IDS),
    ):
        with pytest.raises(InvalidRequestError):
            await store.submit(body)


async def a_task_is_submitted_once(store: TaskStore) -> None:
    """The first request stays."""
    await store.submit(request(prompt="mine"))
    with pytest.raises(ExistsError):
        await store.submit(request(prompt="yours"))
    assert b"mine" in (await store.load("one")).request


async def a_task_is_completed_once(store: TaskStore) -> None:
    """Whoever comes second is told so and changes nothing."""
    made = await store.submit(request())
    done = await store.complete("one", result("first"))
    assert (done.state, done.request, done.submitted) == ("completed", made.request, made.submitted)
    assert json.loads(done.result)["text"] == "first"
    assert done.completed >= done.submitted
    with pytest.raises(TaskCompletedError):
        await store.complete("one", result("second"))
    assert await store.load("one") == done
    with pytest.raises(ExistsError):
        await store.submit(request())


async def of_many_results_at_once_one_counts(store: TaskStore) -> None:
    """And it is the one whose sender was told that it does."""
    await store.submit(request())
    ended = await asyncio.gather(
        *(store.complete("one", result(str(number))) for number in range(8)),
        return_exceptions=True,
    )
    won = [done for done in ended if isinstance(done, Task)]
    assert won == [await store.load("one")]
    lost = [error for error in ended if not isinstance(error, Task)]
    assert {type(error) for error in lost} == {TaskCompletedError}


async def a_result_belongs_to_its_task(store: TaskStore) -> None:
    """The answer of another request is a mistake, and so is what is no message."""
    await store.submit(request())
    for body in (b"", b"[]", b"{}", result(tag="two"), result("x" * MESSAGE_LIMIT_BYTES)):
        with pytest.raises(InvalidRequestError):
            await store.complete("one", body)
    assert (await store.load("one")).state == "submitted"


async def an_unknown_task_is_not_found(store: TaskStore) -> None:
    """Completing one makes nothing."""
    with pytest.raises(NotFoundError):
        await store.complete("one", result())
    with pytest.raises(NotFoundError):
        await store.load("one")


async def hostile_ids_are_refused_everywhere(store: TaskStore) -> None:
    """No id from outside becomes a flag, a path or a wildcard."""
    for task_id in HOSTILE_IDS:
        with pytest.raises(InvalidIdError):
            await store.load(task_id)
        with pytest.raises(InvalidIdError):
            await store.complete(task_id, result())


CHECKS: tuple[Check, ...] = (
    a_submitted_task_is_loaded_as_it_was_asked,
    every_request_message_makes_a_task,
    what_is_no_request_makes_no_task,
    a_task_is_submitted_once,
    a_task_is_completed_once,
    of_many_results_at_once_one_counts,
    a_result_belongs_to_its_task,
    an_unknown_task_is_not_found,
    hostile_ids_are_refused_everywhere,
)
"""Every check; each is given a store of its own that holds nothing."""
