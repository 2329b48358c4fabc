"""The contract of a memory store, and the registry of backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from fisk_ai.registry import Registry

if TYPE_CHECKING:
    from fisk_ai.bus.jetstream import JetStream

BACKEND_KEY: Final = "harness.memory.backend"
OPTIONS_KEY: Final = "harness.memory.options"
"""Where the options of a backend stand in a configuration."""


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """Which backend this is; ``location`` names it and is never a path, a credential or a URL."""

    backend: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory in a listing."""

    key: str
    description: str


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it is stored; ``description`` is empty for a file written by hand without."""

    description: str
    content: str


class MemoryStore(Protocol):
    """Where memories are kept; safe for independent processes on the same place.

    Every method checks the key first. What a run has read is its authority to update, on a backend
    that asks for it; :mod:`fisk_ai.memory.scope` holds it.
    """

    def info(self) -> MemoryInfo:
        """Name the backend."""
        ...

    async def bind(self) -> None:
        """Look once at what exists outside of this process; before anything else is done.

        Raises:
            SetupError: it is not there, or could lose a memory; says what to change.
        """
        ...

    async def list(self) -> list[Entry]:
        """Return every memory by key, in code point order; grants no authority."""
        ...

    async def read(self, key: str) -> Memory:
        """Return one memory, which grants the authority to update it.

        Raises:
            NotFoundError: there is none.
            MemoryInputError: the key is no legal one.
            StoreError: it could not be read.
        """
        ...

    async def peek(self, key: str) -> Memory:
        """Return one memory and grant nothing; raises as :meth:`read`."""
        ...

    async def create(self, key: str, description: str, content: str) -> None:
        """Write a memory that is not there yet.

        Raises:
            ExistsError: it is there.
            MemoryFullError: the store holds its maximum.
            MemoryInputError: the key, the description or the content breaks a limit.
            StoreError: it could not be written.
        """
        ...

    async def update(self, key: str, description: str, content: str) -> None:
        """Write a memory over what this run last read of it.

        Raises:
            StaleError: it changed since, or this run never read it, where that is asked for.
            MemoryInputError, StoreError: as :meth:`create`.
        """
        ...

    async def delete(self, key: str) -> bool:
        """Remove a memory and say whether there was one.

        Raises:
            MemoryInputError, StoreError: as :meth:`create`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """What a backend may need; ``base`` is where a relative directory starts, ``js`` the broker."""

    identity: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    base: Path | None = None
    js: JetStream | None = None


_backends: Registry[MemoryConfig, MemoryStore] = Registry("memory backend", key=BACKEND_KEY)

register = _backends.register
names = _backends.names
check = _backends.check
needs_broker = _backends.needs_broker
new = _backends.new
