"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.memory import store
from fisk_ai.memory.file import BACKEND, FileMemory, directory_of


def _file(config: store.MemoryConfig) -> store.MemoryStore:
    return FileMemory(directory_of(config))


store.register(BACKEND, _file, check=directory_of)
