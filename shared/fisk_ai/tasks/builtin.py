"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.tasks import store
from fisk_ai.tasks.file import FileTasks, directory_of


def _file(config: store.TaskConfig) -> store.TaskStore:
    return FileTasks(directory_of(config))


store.register("file", _file, check=directory_of)
