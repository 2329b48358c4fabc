"""A run with a memory: what it may update, what the next one may, what the model is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.agent.options import NextPrompt
from fisk_ai.agent.prompt import RESUME_REMINDER
from fisk_ai.errors import ExistsError, NotFoundError, SetupError, StaleError, StoreError
from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.memory import scope
from fisk_ai.memory.index import index_block
from fisk_ai.memory.store import Entry, Memory, MemoryInfo
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import MemoryRevisions, Meta, Payload, Record, Terminal
from fisk_ai.sessions.store import Filter, Journal
from fisk_ai.testing.agent import AgentBench, call, say
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.contract import Advisory


class Revised:
    """A memory that asks for a read before an update, as a shared one does."""

    def __init__(self, backend: str = "file") -> None:
        self.backend = backend
        self.kept: dict[str, tuple[Memory, int]] = {}
        self.broken = False

    def info(self) -> MemoryInfo:
        return MemoryInfo(self.backend)

    async def bind(self) -> None:
        return

    async def list(self) -> list[Entry]:
        if self.broken:
            raise StoreError("cannot list memories: it is gone")
        return [Entry(key, memory.description) for key, (memory, _) in sorted(self.kept.items())]

    async def peek(self, key: str) -> Memory:
        if key not in self.kept:
            raise NotFoundError(f"no memory {key}")
        return self.kept[key][0]

    async def read(self, key: str) -> Memory:
        memory = await self.peek(key)
        self._saw(key)
        return memory

    async def create(self, key: str, description: str, content: str) -> None:
        if key in self.kept:
            raise ExistsError(f"{key} is there")
        self._put(key, Memory(description, content), 1)

    async def update(self, key: str, description: str, content: str) -> None:
        current = scope.current()
        seen = current.revision(key) if current is not None else None
        if key not in self.kept or seen != self.kept[key][1]:
            raise StaleError(f"{key} was not read")
        self._put(key, Memory(description, content), self.kept[key][1] + 1)

    async def delete(self, key: str) -> bool:
        return self.kept.pop(key, None) is not None

    def _put(self, key: str, memory: Memory, revision: int) -> None:
        self.kept[key] = (memory, revision)
        self._saw(key)

    def _saw(self, key: str) -> None:
        current = scope.current()
        if current is not None:
            current.saw(key, self.kept[key][1])


@pytest.fixture
def memory() -> Revised:
    return Revised()


@pytest.fixture
def remembering(bench: AgentBench) -> AgentBench:
    bench.configure(harness={"memory": {"enabled": True}})
    return bench


READ = call(("a", "memory_read", b'{"key":"k"}'))
OVERWRITE = call(
    ("b", "memory_write", b'{"key":"k","description":"d","content":"new","overwrite":true}')
)


def revisions(payloads: list[Payload | None]) -> list[MemoryRevisions]:
    return [item for item in payloads if isinstance(item, MemoryRevisions)]


async def test_what_a_run_has_read_it_may_update(remembering: AgentBench, memory: Revised) -> None:
    await memory.create("k", "d", "old")
    await remembering.run(READ, OVERWRITE, say("done"), memory_store=memory)
    assert (await memory.peek("k")).content == "new"
    assert revisions(await remembering.payloads()) == [MemoryRevisions(revisions={"k": 2})]
    assert (await remembering.kinds())[-2:] == ["MemoryRevisions", "Terminal"]
    records = await remembering.store.records("bench")
    assert [is_optional(record) for record in records[-2:]] == [True, False]


def is_optional(record: Record) -> bool:
    return record.optional


async def test_two_runs_do_not_share_what_they_have_read(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "d", "old")
    await remembering.run(READ, say("done"), memory_store=memory)
    remembering.session_id = "another"
    await remembering.run(OVERWRITE, say("done"), memory_store=memory)
    assert (await memory.peek("k")).content == "old"


async def test_a_resumed_session_keeps_what_it_has_read(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "d", "old")
    await remembering.converse([], READ, say("done"), memory_store=memory)
    await remembering.converse(["write"], OVERWRITE, say("done"), memory_store=memory)
    assert (await memory.peek("k")).content == "new"


async def test_a_session_that_read_nothing_records_no_revisions(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "d", "old")
    await remembering.run(say("done"), memory_store=memory)
    assert revisions(await remembering.payloads()) == []


async def test_a_new_conversation_keeps_what_the_run_has_read(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "d", "old")
    anew = NextPrompt(text="write", reset=True)
    await remembering.converse([anew], READ, say("a"), OVERWRITE, say("b"), memory_store=memory)
    assert (await memory.peek("k")).content == "new"
    assert revisions(await remembering.payloads()) == []
    rows = await remembering.store.list(Filter())
    (other,) = [row.run_id for row in rows if row.run_id != "bench"]
    records = await remembering.store.records(other)
    assert revisions([record.payload for record in records]) == [
        MemoryRevisions(revisions={"k": 2})
    ]


async def test_lost_revisions_do_not_cost_the_terminal(
    remembering: AgentBench, memory: Revised, runs: Path
) -> None:
    await memory.create("k", "d", "old")
    remembering.store = OneLoss(runs)
    result, error = await remembering.run(READ, say("done"), memory_store=memory)
    assert (result.reason, error) == ("completed", None)
    assert remembering.events.of(Advisory) == [
        Advisory(kind="journal_memory_revisions", error="the disk is full")
    ]
    assert (await remembering.payloads())[-1] == Terminal(reason="completed")


async def test_the_model_is_told_what_the_memory_holds_at_the_start(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "where the keys are", "old")
    listed = await index_block(memory)
    await remembering.run(READ, say("done"), memory_store=memory)
    first, second = remembering.model.requests
    assert first.system_blocks[-1] == second.system_blocks[-1] == listed
    assert "where the keys are" in listed


async def test_the_index_is_the_last_block_and_never_hashed(
    remembering: AgentBench, memory: Revised
) -> None:
    await remembering.converse([], say("a"), memory_store=memory)
    await memory.create("k", "d", "new")
    await remembering.converse(["more"], say("b"), memory_store=memory)
    blocks = remembering.model.requests[0].system_blocks
    assert blocks[-2:] == (RESUME_REMINDER, await index_block(memory))
    assert remembering.events.warnings() == []


async def test_the_listing_gives_no_right_to_update(
    remembering: AgentBench, memory: Revised
) -> None:
    await memory.create("k", "d", "old")
    await remembering.run(OVERWRITE, say("done"), memory_store=memory)
    assert (await memory.peek("k")).content == "old"


async def test_no_index_is_wanted(bench: AgentBench, memory: Revised) -> None:
    bench.configure(harness={"memory": {"enabled": True, "no_index": True}})
    await bench.run(say("hello"), memory_store=memory)
    assert not any("memory-index" in block for block in bench.model.requests[0].system_blocks)


async def test_a_memory_that_cannot_be_listed_is_a_warning(
    remembering: AgentBench, memory: Revised
) -> None:
    memory.broken = True
    result, _ = await remembering.run(say("hello"), memory_store=memory)
    assert result.reason == "completed"
    assert remembering.events.of(Advisory) == [
        Advisory(kind="memory_index", error="cannot list memories: it is gone")
    ]
    assert remembering.events.names()[:2] == ["starting", "warn"]


async def test_a_run_without_the_memory_its_file_enables_is_refused(
    remembering: AgentBench,
) -> None:
    _, error = await remembering.run()
    assert isinstance(error, SetupError)
    assert error.key == "harness.memory"


async def test_another_memory_than_the_file_declares_is_refused(bench: AgentBench) -> None:
    bench.configure(harness={"memory": {"enabled": True, "backend": "file"}})
    _, error = await bench.run(memory_store=Revised("redis"))
    assert isinstance(error, SetupError)
    assert error.key == "harness.memory.backend"
    for word in ("memory_store", '"redis"', '"file"', "agent.yaml"):
        assert word in str(error)


async def test_a_default_declares_no_memory(remembering: AgentBench) -> None:
    result, _ = await remembering.run(say("hello"), memory_store=Revised("redis"))
    assert result.reason == "completed"


async def test_a_read_only_memory_offers_no_writing(bench: AgentBench, memory: Revised) -> None:
    bench.configure(harness={"memory": {"enabled": True, "read_only": True}})
    bench.tools = [FakeTool(name="look")]
    await bench.run(say("hello"), memory_store=memory)
    offered = [tool.name for tool in bench.model.requests[0].tools]
    assert offered == ["look", "memory_list", "memory_read"]


async def test_a_memory_tool_answers_the_model(remembering: AgentBench, memory: Revised) -> None:
    await memory.create("k", "d", "old")
    await remembering.run(READ, say("done"), memory_store=memory)
    (block,) = remembering.model.requests[1].messages[-1].content
    assert isinstance(block, ToolResultBlock)
    assert '"content":"old"' in block.content


class OneLoss(FileStore):
    """Its journals lose the first revisions they are given."""

    async def create(self, run_id: str, meta: Meta) -> Journal:  # pyright: ignore[reportIncompatibleMethodOverride] - a narrower journal is all the contract asks for
        return _OneLoss(await super().create(run_id, meta))


class _OneLoss:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lost = False
        self.last_seq = journal.last_seq
        self.records = journal.records
        self.check_held = journal.check_held
        self.close = journal.close

    async def append(self, seq: int, payload: Payload) -> None:
        if isinstance(payload, MemoryRevisions) and not self._lost:
            self._lost = True
            raise StoreError("the disk is full")
        await self._journal.append(seq, payload)
