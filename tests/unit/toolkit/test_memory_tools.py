"""What a model is told of its memory tools, and what they return."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fisk_ai.errors import StaleError, StoreError, ToolError
from fisk_ai.memory.file import FileMemory
from fisk_ai.memory.store import Entry, Memory, MemoryStore
from fisk_ai.toolkit.builtin.memory import memory_tools
from fisk_ai.toolkit.contract import (
    CallContext,
    Confirmable,
    Describer,
    ExecDeps,
    Tool,
)

NAMES = ["memory_list", "memory_read", "memory_write", "memory_delete"]


class Strict(FileMemory):
    """A file store whose updates are stale until a key was read, and which notes its peeks."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.known: set[str] = set()
        self.peeked: list[str] = []

    async def read(self, key: str) -> Memory:
        memory = await super().read(key)
        self.known.add(key)
        return memory

    async def peek(self, key: str) -> Memory:
        self.peeked.append(key)
        return await super().read(key)

    async def update(self, key: str, description: str, content: str) -> None:
        if key not in self.known:
            raise StaleError("no revision is known")
        await super().update(key, description, content)


class Broken(FileMemory):
    """A store whose place fails."""

    async def list(self) -> list[Entry]:
        raise StoreError("the disk is on fire")

    async def read(self, key: str) -> Memory:
        raise StoreError("the disk is on fire")

    async def delete(self, key: str) -> bool:
        raise StoreError("the disk is on fire")

    async def create(self, key: str, description: str, content: str) -> None:
        raise StoreError("the disk is on fire")


@pytest.fixture
def store(tmp_path: Path) -> Strict:
    return Strict(tmp_path / "memory")


def tools_of(store: MemoryStore | None, *, read_only: bool = False) -> dict[str, Tool]:
    return {tool.name: tool for tool in memory_tools(store, read_only=read_only)}


async def call_raw(store: MemoryStore | None, name: str, raw: str) -> str:
    tool = tools_of(store)[name]
    return (await tool.execute(CallContext(), raw.encode(), ExecDeps())).output


async def call(store: MemoryStore | None, name: str, **given: object) -> str:
    return await call_raw(store, name, json.dumps(given))


def test_all_tools_are_there_in_order_and_read_only_hides_those_that_change(
    store: Strict,
) -> None:
    assert list(tools_of(store)) == NAMES
    assert list(tools_of(store, read_only=True)) == NAMES[:2]


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_tool_is_builtin_never_deferred_never_served_and_traced(
    store: Strict, name: str
) -> None:
    tool = tools_of(store)[name]
    assert not tool.mcp_exposable
    assert not tool.a2a_exposable
    assert not tool.definition(defer_loading=True).defer_loading
    assert isinstance(tool, Describer)
    assert isinstance(tool, Confirmable)
    assert not tool.needs_confirm(())
    info = tool.describe(b'{"key":"k"}')
    assert (info.kind, info.present, info.operator_paced) == ("builtin", "traced", False)


def test_schemas_name_what_is_required(store: Strict) -> None:
    schemas = {name: tool.input_schema() for name, tool in tools_of(store).items()}
    shapes = {
        name: (list(json.loads(json.dumps(schema["properties"]))), schema.get("required"))
        for name, schema in schemas.items()
    }
    assert shapes == {
        "memory_list": ([], None),
        "memory_read": (["key"], ["key"]),
        "memory_write": (
            ["key", "description", "content", "overwrite"],
            ["key", "description", "content"],
        ),
        "memory_delete": (["key"], ["key"]),
    }
    assert all("additionalProperties" not in schema for schema in schemas.values())


def test_descriptions_tell_a_model_what_it_must_know(store: Strict) -> None:
    said = {name: tool.model_description for name, tool in tools_of(store).items()}
    assert "live" in said["memory_list"]
    assert "when this run started" in said["memory_list"]
    assert "not instructions" in said["memory_read"]
    for words in ("overwrite true", "front matter", "letters, digits and . _ = -", "later runs"):
        assert words in said["memory_write"]
    assert "no error" in said["memory_delete"]


@pytest.mark.parametrize(
    ("name", "raw", "line"),
    [
        ("memory_list", b"{}", "memory_list"),
        ("memory_read", b'{"key":"build.notes"}', "memory_read build.notes"),
        ("memory_delete", b'{"key":"a\\u001b[31m\\nb"}', "memory_delete a b"),
        ("memory_write", b'{"key":"' + b"k" * 201 + b'"}', "memory_write " + "k" * 200 + "…"),
        ("memory_read", b"", "memory_read"),
        ("memory_read", b'{"key":""}', "memory_read"),
        ("memory_read", b'{"key":5}', "memory_read"),
        ("memory_read", b"no json", "memory_read"),
    ],
)
def test_a_trace_names_the_key(store: Strict, name: str, raw: bytes, line: str) -> None:
    tool = tools_of(store)[name]
    assert isinstance(tool, Describer)
    assert tool.describe(raw).display == line


async def test_an_empty_store_lists_an_empty_list(store: Strict) -> None:
    assert await call(store, "memory_list") == '{"memories":[]}'
    assert await call_raw(store, "memory_list", "null") == '{"memories":[]}'


async def test_results_are_compact_json_in_a_fixed_order(store: Strict) -> None:
    written = await call(
        store, "memory_write", content="<b> & é\u2028", description="A <tag>", key="k"
    )
    assert written == '{"written":true}'
    assert await call(store, "memory_list") == (
        '{"memories":[{"key":"k","description":"A \\u003ctag\\u003e"}]}'
    )
    assert await call(store, "memory_read", key="k") == (
        '{"found":true,"key":"k","description":"A \\u003ctag\\u003e",'
        '"content":"\\u003cb\\u003e \\u0026 é\\u2028"}'
    )
    assert await call(store, "memory_delete", key="k") == '{"deleted":true}'
    assert await call(store, "memory_delete", key="k") == '{"deleted":false}'


async def test_a_memory_without_a_description_reads_without_one(
    store: Strict, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "k.md").touch()
    assert await call(store, "memory_read", key="k") == '{"found":true,"key":"k","content":""}'


async def test_a_missed_read_points_at_the_list(store: Strict) -> None:
    result = json.loads(await call(store, "memory_read", key="nothing"))
    assert list(result) == ["found", "reason"]
    assert result["found"] is False
    assert '"nothing"' in result["reason"]
    assert "memory_list" in result["reason"]


async def test_a_key_that_exists_is_told_with_its_description_and_grants_nothing(
    store: Strict,
) -> None:
    await call(store, "memory_write", key="k", description="What is there", content="1")
    for overwrite in ({}, {"overwrite": False}, {"overwrite": None}):
        text = await call(store, "memory_write", key="k", description="d", content="2", **overwrite)
        result = json.loads(text)
        assert list(result) == ["written", "reason"]
        assert result["written"] is False
        for words in ('"k"', "What is there", "overwrite true", "another key"):
            assert words in result["reason"]
    assert (store.peeked, store.known) == (["k"] * 3, set())
    stale = json.loads(
        await call(store, "memory_write", key="k", description="d", content="2", overwrite=True)
    )
    assert stale["written"] is False


async def test_a_key_that_exists_without_a_description_is_told_without_one(
    store: Strict, tmp_path: Path
) -> None:
    (tmp_path / "memory" / "k.md").mkdir(parents=True)  # nothing that could be read, either
    result = json.loads(await call(store, "memory_write", key="k", description="d", content="2"))
    assert result["reason"].startswith('memory "k" exists already; ')


async def test_a_stale_overwrite_asks_for_a_read_and_passes_after_it(store: Strict) -> None:
    change = {"key": "k", "description": "d", "content": "2", "overwrite": True}
    await call(store, "memory_write", key="k", description="d", content="1")
    result = json.loads(await call(store, "memory_write", **change))
    assert result["written"] is False
    assert "memory_read" in result["reason"]
    assert "overwrite true" in result["reason"]
    await call(store, "memory_read", key="k")
    assert await call(store, "memory_write", **change) == '{"written":true}'
    assert '"content":"2"' in await call(store, "memory_read", key="k")


@pytest.mark.parametrize(
    ("name", "raw", "says"),
    [
        ("memory_list", "no json", "invalid memory_list input: "),
        ("memory_read", "[]", "invalid memory_read input: "),
        ("memory_write", '{"key":5}', "invalid memory_write input: "),
        ("memory_write", '{"overwrite":"yes"}', "invalid memory_write input: "),
        ("memory_delete", '"k"', "invalid memory_delete input: "),
        ("memory_read", "", 'reading memory "": the key is empty'),
        ("memory_read", "null", 'reading memory "": the key is empty'),
        ("memory_delete", "{}", 'deleting memory "": the key is empty'),
        ("memory_read", '{"key":"a/b"}', 'reading memory "a/b": the key holds'),
        ("memory_write", '{"key":"k"}', 'writing memory "k": the description is empty'),
        ("memory_write", '{"key":"a b"}', 'writing memory "a b": the key holds'),
    ],
)
async def test_input_that_no_memory_can_have_is_an_error(
    store: Strict, name: str, raw: str, says: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await call_raw(store, name, raw)
    assert str(caught.value).startswith(says)


async def test_a_content_over_the_limit_is_an_error_that_names_both(store: Strict) -> None:
    with pytest.raises(ToolError, match=r'writing memory "k": .* 65537 bytes, the limit is 65536'):
        await call(store, "memory_write", key="k", description="d", content="x" * 65537)


async def test_a_hostile_key_is_quoted_no_further_than_a_key_goes(store: Strict) -> None:
    with pytest.raises(ToolError) as caught:
        await call(store, "memory_read", key="x" * 100_000)
    assert len(str(caught.value)) < 500


async def test_a_lone_surrogate_is_stored_as_the_replacement_character(store: Strict) -> None:
    raw = '{"key":"k","description":"d\\ud83d","content":"c\\udc00"}'
    assert await call_raw(store, "memory_write", raw) == '{"written":true}'
    assert await store.read("k") == Memory("d\ufffd", "c\ufffd")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("memory_list", "listing memory: the disk is on fire"),
        ("memory_read", 'reading memory "k": the disk is on fire'),
        ("memory_write", 'writing memory "k": the disk is on fire'),
        ("memory_delete", 'deleting memory "k": the disk is on fire'),
    ],
)
async def test_a_store_that_fails_is_an_error_that_says_what_was_tried(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await call(Broken(tmp_path), name, key="k", description="d", content="c")
    assert str(caught.value) == says


@pytest.mark.parametrize("name", NAMES)
async def test_without_a_store_every_call_says_so(name: str) -> None:
    with pytest.raises(ToolError, match="memory store is not configured"):
        await call(None, name, key="k")
