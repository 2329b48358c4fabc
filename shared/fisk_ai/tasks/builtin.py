"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.tasks import store
from fisk_ai.tasks.file import FileTasks, directory_of
from fisk_ai.tasks.jetstream import BACKEND, BucketTasks, bucket_of, required


def _file(config: store.TaskConfig) -> store.TaskStore:
    return FileTasks(directory_of(config))


def _bucket(config: store.TaskConfig) -> store.TaskStore:
    return BucketTasks(required(config.js), bucket_of(config))


store.register("file", _file, check=directory_of)
store.register(BACKEND, _bucket, check=bucket_of, needs_broker=True)
