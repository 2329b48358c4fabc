"""Each memory backend keeps the promises of the one contract, and so does the suite itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.errors import ExistsError, MemoryFullError, NotFoundError, StaleError
from fisk_ai.memory import scope
from fisk_ai.memory.file import FileMemory
from fisk_ai.memory.limits import ENTRIES_LIMIT, check_key, checked
from fisk_ai.memory.store import Entry, Memory, MemoryInfo
from fisk_ai.testing import memory_store
from fisk_ai.testing.memory_store import Bench


class GuardedMemory:
    """Memories in a table shared by its stores, which asks for a read before an update."""

    def __init__(self, table: dict[str, tuple[int, Memory]], counter: list[int]) -> None:
        self._table = table
        self._counter = counter

    def info(self) -> MemoryInfo:
        return MemoryInfo("table", "one")

    async def list(self) -> list[Entry]:
        return [Entry(key, self._table[key][1].description) for key in sorted(self._table)]

    async def read(self, key: str) -> Memory:
        memory = await self.peek(key)
        self._saw(key)
        return memory

    async def peek(self, key: str) -> Memory:
        check_key(key)
        if key not in self._table:
            raise NotFoundError(key)
        return self._table[key][1]

    async def create(self, key: str, description: str, content: str) -> None:
        memory = checked(key, description, content)
        if len(self._table) >= ENTRIES_LIMIT:
            raise MemoryFullError("memory is full")
        if key in self._table:
            raise ExistsError(key)
        self._put(key, memory)

    async def update(self, key: str, description: str, content: str) -> None:
        memory = checked(key, description, content)
        known = scope.current()
        revision = known.revision(key) if known else None
        if known is None or revision is None:
            raise StaleError("no revision is known")
        if key not in self._table or self._table[key][0] != revision:
            known.forget(key)
            raise StaleError("changed since it was read")
        self._put(key, memory)

    async def delete(self, key: str) -> bool:
        check_key(key)
        known = scope.current()
        if known is not None:
            known.forget(key)
        return self._table.pop(key, None) is not None

    def _put(self, key: str, memory: Memory) -> None:
        self._counter[0] += 1
        self._table[key] = (self._counter[0], memory)
        self._saw(key)

    def _saw(self, key: str) -> None:
        known = scope.current()
        if known is not None:
            known.saw(key, self._table[key][0])


@pytest.mark.parametrize("check", memory_store.CHECKS, ids=memory_store.name_of)
async def test_the_file_store_keeps_the_contract(check: memory_store.Check, tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    await check(Bench(open=lambda: FileMemory(directory)))
    # No check leaves behind a file that is no memory.
    assert [path for path in directory.iterdir() if path.suffix != ".md"] == []


@pytest.mark.parametrize("check", memory_store.CHECKS, ids=memory_store.name_of)
async def test_a_store_that_asks_for_a_read_before_an_update_keeps_the_contract(
    check: memory_store.Check,
) -> None:
    table: dict[str, tuple[int, Memory]] = {}
    counter = [0]
    await check(Bench(open=lambda: GuardedMemory(table, counter), reads_before_update=True))
