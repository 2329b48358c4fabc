"""Importing this module registers the backends that come with the program."""

from __future__ import annotations

from fisk_ai.memory import bucket_option, file, store


def _file(config: store.MemoryConfig) -> store.MemoryStore:
    return file.FileMemory(file.directory_of(config))


def _bucket(config: store.MemoryConfig) -> store.MemoryStore:
    option = bucket_option.bucket_of(config)
    # Here, for processes without a broker.
    from fisk_ai.memory.jetstream import BucketMemory, required  # noqa: PLC0415

    return BucketMemory(required(config.js), option)


store.register(file.BACKEND, _file, check=file.directory_of)
store.register(bucket_option.BACKEND, _bucket, check=bucket_option.bucket_of, needs_broker=True)
