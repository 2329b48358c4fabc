"""Values under keys at the broker, as the clients of NATS keep them: one stream for each bucket.

Decided here: every write says which revision it replaces, or that it does not ask; every read goes
to the leader, since what is read decides what may be written. Rules: ``docs/reference/bus.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from fisk_ai.bus.jetstream import EXPECTED_SEQUENCE, FENCED, JetStream
from fisk_ai.bus.stored import Stored
from fisk_ai.bus.stream_info import StreamConfig
from fisk_ai.bus.stream_reading import Reading, read
from fisk_ai.errors import BusTimeoutError, StreamError

STREAM_PREFIX: Final = "KV_"
OPERATION_HEADER: Final = "KV-Operation"
MARKER_HEADER: Final = "Nats-Marker-Reason"
"""Set where the server itself removed a value, such as one whose time was up."""

ATTEMPTS: Final = 40
AGAIN_S: Final = 0.05
"""Between two attempts against a server that has not decided another writer's value yet."""

_REMOVALS: Final = ("DEL", "PURGE")


@dataclass(frozen=True, slots=True)
class Value:
    """What a key holds; ``revision`` names this very write."""

    key: str
    body: bytes
    revision: int


class Bucket:
    """One bucket, which exists already."""

    def __init__(self, js: JetStream, name: str) -> None:
        """Use the bucket ``name``; :meth:`config` says whether it is there."""
        self.name = name
        self._js = js
        self._stream = f"{STREAM_PREFIX}{name}"

    async def config(self) -> StreamConfig:
        """Return how the bucket is kept.

        Raises:
            StreamError: there is none (:data:`fisk_ai.bus.jetstream.NO_STREAM`).
            BusError: it cannot be asked. So do all methods below.
        """
        return (await self._js.stream(self._stream)).config

    async def get(self, key: str) -> Value | None:
        """Return what ``key`` holds, ``None`` when that is nothing."""
        found = await self._js.newest(self._stream, self._subject(key))
        return None if found is None or _is_removal(found) else self._value(found)

    async def create(self, key: str, body: bytes) -> int | None:
        """Write a value where there is none and return its revision; ``None`` when there is one."""
        revision = await self.update(key, body, 0)
        if revision is not None:
            return revision
        found = await self._js.newest(self._stream, self._subject(key))
        if found is None or not _is_removal(found):
            return None
        return await self.update(key, body, found.seq)

    async def update(self, key: str, body: bytes, revision: int) -> int | None:
        """Write a value over ``revision`` and return its own; ``None`` when it is another now.

        Raises:
            BusTimeoutError: the broker decided neither way.
        """
        subject, fence = self._subject(key), {EXPECTED_SEQUENCE: str(revision)}
        for _ in range(ATTEMPTS):
            try:
                return (await self._js.publish(subject, body, headers=fence)).seq
            except StreamError as exc:
                if exc.err_code not in FENCED:
                    raise
            found = await self._js.newest(self._stream, subject)
            if (found.seq if found else 0) != revision:
                return None
            await asyncio.sleep(AGAIN_S)
        raise BusTimeoutError(f'the value of "{key}" in bucket {self.name} stays undecided')

    async def put(self, key: str, body: bytes) -> int:
        """Write a value over whatever is there and return its revision."""
        return (await self._js.publish(self._subject(key), body)).seq

    async def delete(self, key: str) -> None:
        """Leave a mark in place of the value."""
        await self._js.publish(self._subject(key), b"", headers={OPERATION_HEADER: "DEL"})

    async def values(self, keys: str = ">") -> AsyncGenerator[Value]:
        """Yield what is held under ``keys``, which may have wildcards."""
        reading = Reading(self._stream, self._subject(keys), "last_per_subject")
        async with aclosing(read(self._js, reading)) as messages:
            async for message in messages:
                if not _is_removal(message):
                    yield self._value(message)

    async def count(self, keys: str = ">") -> int:
        """Return how many of ``keys`` hold a value, without reading any of them."""
        reading = Reading(self._stream, self._subject(keys), "last_per_subject", headers_only=True)
        async with aclosing(read(self._js, reading)) as messages:
            return len([True async for message in messages if not _is_removal(message)])

    def _subject(self, key: str) -> str:
        return f"$KV.{self.name}.{key}"

    def _value(self, found: Stored) -> Value:
        return Value(found.subject.removeprefix(self._subject("")), found.body, found.seq)


def _is_removal(message: Stored) -> bool:
    return message.headers.get(OPERATION_HEADER) in _REMOVALS or MARKER_HEADER in message.headers
