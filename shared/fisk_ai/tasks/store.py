"""The contract of a task store, and the registry of backends.

A caller is sent here for an answer and never to the journal: that is how the work was done, and
changes with every release. Rules: ``docs/reference/tasks.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fisk_ai.registry import Registry
from fisk_ai.tasks.task import Task

if TYPE_CHECKING:
    from fisk_ai.bus.jetstream import JetStream


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Which backend this is; ``location`` is a bucket, and empty for files: never a path."""

    backend: str
    location: str = ""


class TaskStore(Protocol):
    """Where tasks are kept; safe for independent processes on the same place."""

    def info(self) -> StoreInfo:
        """Name the backend."""
        ...

    async def bind(self) -> None:
        """Look once, before the first use, whether this place is fit for tasks.

        Raises:
            SetupError: it is not, with what to change.
        """
        ...

    async def submit(self, request: bytes) -> Task:
        """Keep a request message and return its task.

        Raises:
            InvalidRequestError: no request that a task can be made of.
            ExistsError: there is a task of that request already.
            StoreError: it could not be kept.
        """
        ...

    async def load(self, task_id: str) -> Task:
        """Return a task.

        Raises:
            NotFoundError, InvalidIdError, CorruptError: as their names say.
            StoreError: it could not be read.
        """
        ...

    async def complete(self, task_id: str, result: bytes) -> Task:
        """Give a task its result, once, and return it.

        With deliveries that repeat, whoever comes second is usually a worker that failed: letting
        it replace the answer would lose it.

        Raises:
            TaskCompletedError: the task has its result; nothing was changed.
            InvalidRequestError: no message that answers this task.
            NotFoundError, InvalidIdError, CorruptError, StoreError: as :meth:`load`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskConfig:
    """What a backend may need; ``store_dir`` is the base of relative paths, when there is one.

    ``js`` is the broker of those who opened one.
    """

    options: Mapping[str, object] = field(default_factory=dict[str, object])
    store_dir: Path | None = None
    js: JetStream | None = None


_backends: Registry[TaskConfig, TaskStore] = Registry("task store backend", key="backend")

register = _backends.register
names = _backends.names
check = _backends.check
new = _backends.new
needs_broker = _backends.needs_broker
