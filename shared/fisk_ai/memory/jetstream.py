"""Memories in a bucket: for workers on several machines.

A run updates only what it has read, unless the operator says that the last to write wins. The
connection is borrowed and never closed here. Rules: ``docs/reference/memory.md``.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Generator
from contextlib import aclosing, contextmanager

from fisk_ai.bus.bucket import Bucket, Value
from fisk_ai.bus.jetstream import NO_STREAM, JetStream
from fisk_ai.errors import (
    AbsentError,
    BusError,
    ExistsError,
    MessageTooLargeError,
    NotFoundError,
    SetupError,
    StaleError,
    StoreError,
    StreamError,
)
from fisk_ai.memory import scope, value
from fisk_ai.memory.bucket_option import BACKEND, BUCKET_KEY, BucketOption, creation
from fisk_ai.memory.limits import VALUE_LIMIT_BYTES, check_key, check_room, checked, is_legal_key
from fisk_ai.memory.store import BACKEND_KEY, Entry, Memory, MemoryInfo


class BucketMemory:
    """Keeps each memory as one value."""

    def __init__(self, js: JetStream, option: BucketOption) -> None:
        """Use the bucket of ``option``, which :meth:`bind` looks at first."""
        self._bucket = Bucket(js, option.bucket)
        self._prefix = option.prefix
        self._reads_before_update = option.reads_before_update
        self._count: int | None = None
        self._counting = asyncio.Lock()

    def info(self) -> MemoryInfo:
        """Name the backend and the bucket."""
        return MemoryInfo(BACKEND, self._bucket.name)

    async def bind(self) -> None:
        """Check the bucket; see :class:`fisk_ai.memory.store.MemoryStore`."""
        try:
            config = await self._bucket.config()
        except StreamError as exc:
            if exc.err_code != NO_STREAM:
                raise self._unusable(str(exc)) from exc
            raise self._unusable(
                "it does not exist; make it with 'fisk-ai provision --apply', or with:"
                f" {creation(self._bucket.name)}",
                AbsentError,
            ) from exc
        except BusError as exc:
            raise self._unusable(str(exc)) from exc
        if config.max_age:
            raise self._unusable(
                f"its memories would expire after {config.max_age // 10**9} s: set --ttl=0"
            )
        if 0 < config.max_msg_size < VALUE_LIMIT_BYTES:
            raise self._unusable(
                f"it takes values of at most {config.max_msg_size} bytes:"
                f" set --max-value-size={VALUE_LIMIT_BYTES}"
            )

    async def list(self) -> builtins.list[Entry]:
        """Return every memory under a legal key."""
        found: builtins.list[Entry] = []
        with self._translated("list memories"):
            async with aclosing(self._bucket.values(f"{self._prefix}>")) as values:
                async for item in values:
                    key = item.key.removeprefix(self._prefix)
                    if is_legal_key(key):
                        found.append(Entry(key, value.loads(item.body).description))
        return sorted(found, key=lambda entry: entry.key)

    async def read(self, key: str) -> Memory:
        """Return one memory, which grants the authority to update it."""
        found = await self._get(key)
        self._saw(key, found.revision)
        return value.loads(found.body)

    async def peek(self, key: str) -> Memory:
        """Return one memory and grant nothing."""
        return value.loads((await self._get(key)).body)

    async def create(self, key: str, description: str, content: str) -> None:
        """Write a memory that is not there yet; of several that try at once one succeeds."""
        memory = checked(key, description, content)
        body = value.dumps(memory.description, memory.content)
        with self._translated(f'write memory "{key}"'):
            check_room(await self._entries())
            revision = await self._bucket.create(self._prefix + key, body)
        if revision is None:
            raise ExistsError(f'memory "{key}" exists already')
        self._add(1)
        self._saw(key, revision)

    async def update(self, key: str, description: str, content: str) -> None:
        """Write a memory over what this run last read of it."""
        memory = checked(key, description, content)
        body = value.dumps(memory.description, memory.content)
        with self._translated(f'write memory "{key}"'):
            if not self._reads_before_update:
                self._saw(key, await self._bucket.put(self._prefix + key, body))
                return
            known = scope.current()
            seen = known.revision(key) if known else None
            if known is None or seen is None:
                raise StaleError(f'no revision of memory "{key}" is known: read it first')
            revision = await self._bucket.update(self._prefix + key, body, seen)
            if revision is None:
                known.forget(key)
                raise StaleError(f'memory "{key}" changed since it was read; read it again')
            known.saw(key, revision)

    async def delete(self, key: str) -> bool:
        """Remove a memory and say whether there was one."""
        check_key(key)
        known = scope.current()
        if known is not None:
            known.forget(key)
        with self._translated(f'delete memory "{key}"'):
            if await self._bucket.get(self._prefix + key) is None:
                return False
            await self._bucket.delete(self._prefix + key)
        self._add(-1)
        return True

    async def _get(self, key: str) -> Value:
        check_key(key)
        with self._translated(f'read memory "{key}"'):
            found = await self._bucket.get(self._prefix + key)
        if found is None:
            raise NotFoundError(f'there is no memory "{key}"')
        return found

    async def _entries(self) -> int:
        """Return how many memories there are: counted once, then followed by our own changes."""
        async with self._counting:
            if self._count is None:
                self._count = await self._bucket.count(f"{self._prefix}>")
            return self._count

    def _add(self, change: int) -> None:
        if self._count is not None:
            self._count = max(0, self._count + change)

    def _saw(self, key: str, revision: int) -> None:
        known = scope.current()
        if known is not None:
            known.saw(key, revision)

    @contextmanager
    def _translated(self, what: str) -> Generator[None]:
        try:
            yield
        except (BusError, MessageTooLargeError) as exc:
            raise StoreError(f"cannot {what}: {exc}") from exc

    def _unusable(self, reason: str, kind: type[SetupError] = SetupError) -> SetupError:
        return kind(
            f'the memory bucket "{self._bucket.name}" cannot be used: {reason}', key=BUCKET_KEY
        )


def required(js: JetStream | None) -> JetStream:
    """Return the streams of a connection that somebody opened.

    Raises:
        SetupError: nobody did.
    """
    if js is None:
        raise SetupError(
            f'{BACKEND_KEY} is "jetstream" and there is no NATS connection: set nats_context',
            key=BACKEND_KEY,
        )
    return js
