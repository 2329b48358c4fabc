"""Tasks in a bucket: for processes on several machines.

One key for each task: made where there is none, and replaced over the very revision that was read,
so that of several that complete it at once one alone wins. The bucket exists already and the
connection is borrowed. Rules: ``docs/reference/tasks.md``.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import msgspec

from fisk_ai import options
from fisk_ai.bus.bucket import Bucket, Value
from fisk_ai.bus.jetstream import NO_STREAM, JetStream
from fisk_ai.errors import (
    BusError,
    ConfigError,
    CorruptError,
    ExistsError,
    NotFoundError,
    SetupError,
    StoreError,
    StreamError,
    TaskCompletedError,
)
from fisk_ai.tasks import task as tasks
from fisk_ai.tasks.store import StoreInfo, TaskConfig
from fisk_ai.tasks.task import Task
from fisk_ai.text.clock import rfc3339_now

BACKEND: Final = "jetstream"

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


class _Options(msgspec.Struct, frozen=True):
    bucket: str = ""


class BucketTasks:
    """Keeps each task as one value."""

    def __init__(self, js: JetStream, bucket: str) -> None:
        """Use ``bucket``, which :meth:`bind` looks at first."""
        self._bucket = Bucket(js, bucket)

    def info(self) -> StoreInfo:
        """Name the backend and the bucket."""
        return StoreInfo(BACKEND, self._bucket.name)

    async def bind(self) -> None:
        """Check the bucket; see :class:`fisk_ai.tasks.store.TaskStore`."""
        try:
            config = await self._bucket.config()
        except StreamError as exc:
            if exc.err_code != NO_STREAM:
                raise self._unusable(str(exc)) from exc
            raise self._unusable(
                f"it does not exist; make it with: {creation(self._bucket.name)}"
            ) from exc
        except BusError as exc:
            raise self._unusable(str(exc)) from exc
        if config.max_age:
            raise self._unusable(
                f"its tasks would expire after {config.max_age // 10**9} s: set --ttl=0"
            )

    async def submit(self, request: bytes) -> Task:
        """Keep a request; see :class:`fisk_ai.tasks.store.TaskStore`."""
        made = tasks.submitted(request, time=rfc3339_now())
        with self._translated("written"):
            revision = await self._bucket.create(made.id, tasks.encode(made))
        if revision is None:
            raise ExistsError(f"task {made.id} exists already")
        return made

    async def load(self, task_id: str) -> Task:
        """Return a task."""
        return (await self._loaded(task_id))[0]

    async def complete(self, task_id: str, result: bytes) -> Task:
        """Give a task its result, once."""
        present, revision = await self._loaded(task_id)
        if present.state == "completed":
            raise _has_its_result(task_id)
        done = tasks.completed(present, result, time=rfc3339_now())
        with self._translated("written"):
            written = await self._bucket.update(task_id, tasks.encode(done), revision)
        if written is None:
            raise _has_its_result(task_id)
        return done

    async def _loaded(self, task_id: str) -> tuple[Task, int]:
        tasks.check_id(task_id)
        with self._translated("read"):
            found = await self._bucket.get(task_id)
        if found is None:
            raise NotFoundError(f"there is no task {task_id}")
        return self._task(found), found.revision

    def _task(self, found: Value) -> Task:
        name = f"key {found.key} of bucket {self._bucket.name}"
        task = tasks.decode(found.body, name)
        if task.id != found.key:
            raise CorruptError(f"{name} holds task {task.id}; restore or remove it")
        return task

    @contextmanager
    def _translated(self, verb: str) -> Generator[None]:
        try:
            yield
        except BusError as exc:
            raise StoreError(
                f"tasks in bucket {self._bucket.name} cannot be {verb}: {exc}", key="bucket"
            ) from exc

    def _unusable(self, reason: str) -> SetupError:
        return SetupError(
            f'the task bucket "{self._bucket.name}" cannot be used: {reason}', key="bucket"
        )


def bucket_of(config: TaskConfig) -> str:
    """Return the bucket that tasks are kept in.

    Raises:
        ConfigError: an option that this backend does not take, no bucket, or a name that is none.
    """
    name = options.decode(f"{BACKEND} task store", config.options, _Options, key="options").bucket
    if not name:
        raise ConfigError(
            "bucket is required for the jetstream task store: name a bucket that exists already;"
            f" make one with: {creation('FISK_TASKS')}",
            key="bucket",
        )
    if not _NAME.fullmatch(name):
        raise ConfigError(f"bucket: {name[:80]!r} can be no bucket's name", key="bucket")
    return name


def creation(bucket: str) -> str:
    """Return the command that makes a bucket as tasks need it."""
    return f"nats kv add {bucket} --history=1"


def required(js: JetStream | None) -> JetStream:
    """Return the streams of a connection that somebody opened.

    Raises:
        SetupError: nobody did.
    """
    if js is None:
        raise SetupError(
            "tasks are kept at a broker and there is no NATS connection: set nats_context",
            key="backend",
        )
    return js


def _has_its_result(task_id: str) -> TaskCompletedError:
    return TaskCompletedError(f"task {task_id} has its result; the first one counts")
