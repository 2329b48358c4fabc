"""Memories in files: one per memory, for workers that share one directory.

Two that create the same memory are told apart by the file system: a name is linked once. Nothing
but a regular file is ever read, and a link that somebody planted is never followed. Rules:
``docs/reference/memory.md``.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from fisk_ai import filestore, options
from fisk_ai.errors import (
    ConfigError,
    ExistsError,
    MemoryInputError,
    NotFoundError,
    SetupError,
    StoreError,
)
from fisk_ai.filestore import StoreDirectory
from fisk_ai.memory import value
from fisk_ai.memory.limits import VALUE_LIMIT_BYTES, check_key, check_room, checked, is_legal_key
from fisk_ai.memory.store import OPTIONS_KEY, Entry, Memory, MemoryConfig, MemoryInfo
from fisk_ai.regular import open_regular

T = TypeVar("T")

BACKEND: Final = "file"
DIRECTORY_KEY: Final = f"{OPTIONS_KEY}.directory"
SUFFIX: Final = ".md"
TEMPORARY_PREFIX: Final = ".memtmp-"
"""No memory's name begins with a dot, so what a killed writer left behind is never listed."""


class FileMemory:
    """Keeps memories as ``<key>.md`` in one directory; any run may update any memory."""

    def __init__(self, directory: Path) -> None:
        """Use ``directory``, made with its first memory.

        Raises:
            SetupError: it cannot be made or not be written.
        """
        self._directory = directory
        try:
            self._place = StoreDirectory(directory)
        except OSError as exc:
            raise SetupError(
                f"the memory directory {directory} cannot be used: {exc.strerror or exc}; "
                f"choose another with {DIRECTORY_KEY}",
                key=DIRECTORY_KEY,
            ) from exc

    def info(self) -> MemoryInfo:
        """Name the backend; never the path."""
        return MemoryInfo(BACKEND)

    async def bind(self) -> None:
        """Return at once: the directory was looked at when this store was made."""

    async def list(self) -> builtins.list[Entry]:
        """Return every memory that can be read, by key."""
        return await self._off_loop("list memories", self._list)

    async def read(self, key: str) -> Memory:
        """Return one memory; see :class:`fisk_ai.memory.store.MemoryStore`."""
        check_key(key)
        return await self._off_loop(f'read memory "{key}"', partial(self._read, key))

    async def peek(self, key: str) -> Memory:
        """Return one memory; reading grants nothing here, so it is the same as :meth:`read`."""
        return await self.read(key)

    async def create(self, key: str, description: str, content: str) -> None:
        """Write a memory that is not there yet; of several that try at once one succeeds."""
        memory = checked(key, description, content)
        await self._off_loop(f'write memory "{key}"', partial(self._create, key, memory))

    async def update(self, key: str, description: str, content: str) -> None:
        """Write a memory whether or not it is there; the last to write wins."""
        memory = checked(key, description, content)
        await self._off_loop(f'write memory "{key}"', partial(self._update, key, memory))

    async def delete(self, key: str) -> bool:
        """Remove a memory and say whether there was one."""
        check_key(key)
        return await self._off_loop(f'delete memory "{key}"', partial(self._delete, key))

    async def _off_loop(self, what: str, work: Callable[[], T]) -> T:
        """Do file work in a thread; who is cancelled leaves a write that lands whole or not."""
        try:
            return await asyncio.to_thread(work)
        except OSError as exc:
            # Not the path: the sentence goes to the model.
            raise StoreError(f"cannot {what}: {exc.strerror or type(exc).__name__}") from exc

    def _path(self, key: str) -> Path:
        return self._directory / f"{key}{SUFFIX}"

    def _keys(self) -> Iterator[str]:
        try:
            found = os.scandir(self._directory)
        except FileNotFoundError:
            if self._place.was_there:
                raise
            return
        with found:
            for entry in found:
                key = entry.name.removesuffix(SUFFIX)
                if key == entry.name or not is_legal_key(key):
                    continue
                if entry.is_file(follow_symlinks=False):
                    yield key

    def _list(self) -> builtins.list[Entry]:
        entries: builtins.list[Entry] = []
        for key in sorted(self._keys()):
            with contextlib.suppress(OSError, StoreError):  # gone since, or not ours to read
                head = _read_regular(self._path(key))[:VALUE_LIMIT_BYTES]
                entries.append(Entry(key, value.loads(head).description))
        return entries

    def _read(self, key: str) -> Memory:
        try:
            data = _read_regular(self._path(key))
        except FileNotFoundError as exc:
            raise NotFoundError(f'there is no memory "{key}"') from exc
        if len(data) > VALUE_LIMIT_BYTES:
            raise StoreError(
                f'memory "{key}" is larger than the {VALUE_LIMIT_BYTES} bytes a memory may have'
            )
        return value.loads(data)

    def _create(self, key: str, memory: Memory) -> None:
        check_room(sum(1 for _ in self._keys()))
        body = value.dumps(memory.description, memory.content)
        self._place.make()
        try:
            filestore.create(self._path(key), body, prefix=TEMPORARY_PREFIX)
        except FileExistsError as exc:
            raise ExistsError(f'memory "{key}" exists already') from exc

    def _update(self, key: str, memory: Memory) -> None:
        body = value.dumps(memory.description, memory.content)
        self._place.make()
        filestore.replace(self._path(key), body, prefix=TEMPORARY_PREFIX)

    def _delete(self, key: str) -> bool:
        try:
            self._path(key).unlink()
        except FileNotFoundError:
            return False
        filestore.sync_directory(self._directory)
        return True


def directory_of(config: MemoryConfig) -> Path:
    """Return where an agent's memories are kept: its own directory unless another is named.

    Raises:
        ConfigError: an option this backend does not take, or no name to make a directory of.
    """
    directory = options.directory(f"{BACKEND} memory", config.options, key=OPTIONS_KEY)
    return (config.base or Path()) / (directory or _default_directory(config.identity))


def _default_directory(identity: str) -> Path:
    try:
        check_key(identity)
    except MemoryInputError as exc:
        raise ConfigError(
            f'the identity "{identity[:200]}" names no directory for memories; set {DIRECTORY_KEY}',
            key=DIRECTORY_KEY,
        ) from exc
    return Path("memory") / identity


def _read_regular(path: Path) -> bytes:
    """Return the regular file ``path``, at most one byte more than a memory may have.

    Raises:
        StoreError: something else stands under that name.
        OSError: as ``os.open``.
    """
    refusal = StoreError(
        f'memory "{path.stem}" is no regular file; whoever runs the agent removes it'
    )
    with os.fdopen(open_regular(path, os.O_RDONLY, refusal=refusal), "rb") as file:
        return file.read(VALUE_LIMIT_BYTES + 1)
