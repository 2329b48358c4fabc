"""Tasks in files: one per task, made and replaced whole.

A task appears under its name only when all of it is on the disk, and whoever replaces one holds the
directory's lock, so that of two processes completing at once one alone wins. Rules:
``docs/reference/tasks.md``.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from fisk_ai import filestore, options
from fisk_ai.errors import (
    CorruptError,
    ExistsError,
    LockedError,
    NotFoundError,
    SetupError,
    StoreError,
    TaskCompletedError,
)
from fisk_ai.filestore import StoreDirectory
from fisk_ai.regular import open_regular
from fisk_ai.tasks import task as tasks
from fisk_ai.tasks.store import StoreInfo, TaskConfig
from fisk_ai.tasks.task import Task
from fisk_ai.text.clock import rfc3339_now

T = TypeVar("T")

DIRECTORY = "tasks"
"""The directory's name where none is configured."""

TEMPORARY_PREFIX = ".tasktmp-"
"""What a file is called until all of it is on the disk; no id begins so."""

LOCK_TIMEOUT_S = 10.0
"""Longest wait for another process's replacement, which takes milliseconds."""

_LOCK_POLL_S = 0.01


class FileTasks:
    """Keeps tasks as ``<id>.json`` in one directory."""

    def __init__(self, directory: Path) -> None:
        """Use ``directory``, made with its first task.

        Raises:
            SetupError: it cannot be made, or not be written.
        """
        self._directory = directory
        try:
            self._place = StoreDirectory(directory)
        except OSError as exc:
            raise _unusable(directory, exc.strerror or str(exc)) from exc

    def info(self) -> StoreInfo:
        """Name the backend; never the path."""
        return StoreInfo("file")

    async def bind(self) -> None:
        """Do nothing: the directory was looked at when this was made."""

    async def submit(self, request: bytes) -> Task:
        """Keep a request; see :class:`fisk_ai.tasks.store.TaskStore`."""
        made = tasks.submitted(request, time=rfc3339_now())
        return await self._working("written", partial(self._submit, made))

    async def load(self, task_id: str) -> Task:
        """Return a task."""
        return await self._working("read", partial(self._load, self._path(task_id)))

    async def complete(self, task_id: str, result: bytes) -> Task:
        """Give a task its result, once."""
        path = self._path(task_id)
        return await self._working("written", partial(self._complete, path, result))

    async def _working(self, verb: str, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as exc:
            raise StoreError(
                f"tasks in {self._directory} cannot be {verb}: {exc.strerror or exc}",
                key="directory",
            ) from exc

    def _path(self, task_id: str) -> Path:
        tasks.check_id(task_id)
        return self._directory / f"{task_id}.json"

    def _submit(self, made: Task) -> Task:
        self._place.make()
        try:
            filestore.create(self._path(made.id), _bytes_of(made), prefix=TEMPORARY_PREFIX)
        except FileExistsError as exc:
            raise ExistsError(f"task {made.id} exists already") from exc
        return made

    def _load(self, path: Path) -> Task:
        try:
            body = _read_regular(path)
        except FileNotFoundError as exc:
            raise NotFoundError(f"there is no task {path.stem}") from exc
        task = tasks.decode(body, path.name)
        if task.id != path.stem:
            raise CorruptError(f"{path.name} holds task {task.id}; restore or remove it")
        return task

    def _complete(self, path: Path, result: bytes) -> Task:
        self._load(path)  # one that is not there needs no lock, and may have no directory to lock
        with self._locked():
            present = self._load(path)
            if present.state == "completed":
                raise TaskCompletedError(f"task {present.id} has its result; the first one counts")
            done = tasks.completed(present, result, time=rfc3339_now())
            filestore.replace(path, _bytes_of(done), prefix=TEMPORARY_PREFIX)
        return done

    @contextmanager
    def _locked(self) -> Generator[None]:
        fd = os.open(self._directory, os.O_RDONLY)
        try:
            deadline = time.monotonic() + LOCK_TIMEOUT_S
            while not filestore.lock_at_once(fd):
                if time.monotonic() > deadline:
                    raise LockedError("another process holds the tasks; try again later")
                time.sleep(_LOCK_POLL_S)
            yield
        finally:
            os.close(fd)


def directory_of(config: TaskConfig) -> Path:
    """Return where tasks are kept.

    Raises:
        ConfigError: an option that this backend does not take.
    """
    written = options.directory("file task store", config.options, key="options")
    return (config.store_dir or Path()) / (written or DIRECTORY)


def _bytes_of(task: Task) -> bytes:
    return tasks.encode(task) + b"\n"


def _read_regular(path: Path) -> bytes:
    refusal = CorruptError(f"{path.name} is no regular file, so it holds no task; remove it")
    with os.fdopen(open_regular(path, os.O_RDONLY, refusal=refusal), "rb") as file:
        return file.read()


def _unusable(directory: Path, reason: str) -> SetupError:
    return SetupError(
        f"the task directory {directory} cannot be used: {reason}; choose another with the "
        "option directory",
        key="directory",
    )
