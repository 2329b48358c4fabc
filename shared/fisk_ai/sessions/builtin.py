"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.sessions import store
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import StoreConfig


def _file(config: StoreConfig) -> store.Store:
    return FileStore(directory_of(config), read_only=config.read_only)


store.register("file", _file, check=directory_of)
