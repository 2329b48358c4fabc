"""What every memory store promises, written once and run for each backend.

Parametrise a test with :data:`CHECKS` and hand each one a bench: a way to open stores over one
empty place, and whether the backend asks for a read before an update::

    @pytest.mark.parametrize("check", memory_store.CHECKS, ids=memory_store.name_of)
    async def test_file_memory(check, tmp_path):
        await check(Bench(open=lambda: FileMemory(tmp_path)))

Rules: ``docs/reference/memory.md``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from fisk_ai.errors import (
    ExistsError,
    MemoryFullError,
    MemoryInputError,
    NotFoundError,
    StaleError,
)
from fisk_ai.memory import scope
from fisk_ai.memory.limits import (
    CONTENT_LIMIT_BYTES,
    DESCRIPTION_LIMIT,
    ENTRIES_LIMIT,
    KEY_LIMIT,
)
from fisk_ai.memory.store import Entry, Memory, MemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One empty place to keep memories in.

    ``open`` returns a store over it, as another process would have; ``reads_before_update`` says
    that an update needs the authority of a read.
    """

    open: Callable[[], MemoryStore]
    reads_before_update: bool = False


Check = Callable[[Bench], Awaitable[None]]

BAD_KEYS = (
    "",
    "a" * (KEY_LIMIT + 1),
    "a b",
    "a/b",
    "a\\b",
    "../a",
    "a..b",
    ".a",
    "a.",
    ".",
    "..",
    "a\n",
    "a\0",
    "é",
    "*",
    ">",
    "a:b",
)
"""Keys that are no safe file name or no subject token."""

GOOD_KEYS = ("a", "A-1_b=c.d", "-", "=", "_", "0", "a.b.c", "a" * KEY_LIMIT)

HOSTILE_BODIES = (
    "",
    "\n",
    "\n\n two newlines first",
    "---\ndescription: mine\n---\n\nnot a header",
    "---",
    "a\n---\nb\n---\n",
    "\r\n tab\t nul\0 \u2028 \U0001f600 \u0085",
    "x" * CONTENT_LIMIT_BYTES,
)


def name_of(check: Check) -> str:
    """Return a check's name, for the ids of parametrised tests."""
    return getattr(check, "__name__", "check")


async def an_empty_store_lists_nothing(bench: Bench) -> None:
    """And names its backend without a path, a credential or a URL."""
    store = bench.open()
    assert await store.list() == []
    info = store.info()
    assert info.backend
    assert not {*"/@:"} & {*info.location}


async def a_created_memory_is_read_back(bench: Bench) -> None:
    """By another store over the same place, too."""
    await bench.open().create("notes", "Where notes are", "here\n")
    store = bench.open()
    assert await store.read("notes") == Memory("Where notes are", "here\n")
    assert await store.peek("notes") == Memory("Where notes are", "here\n")
    assert await store.list() == [Entry("notes", "Where notes are")]


async def any_content_comes_back_as_it_was(bench: Bench) -> None:
    """Lines that look like a header, leading newlines, nothing at all."""
    store = bench.open()
    for number, body in enumerate(HOSTILE_BODIES):
        await store.create(f"k{number}", "d", body)
        assert (await store.read(f"k{number}")).content == body


async def descriptions_are_stored_in_their_normal_form(bench: Bench) -> None:
    """One line, cut to the limit; whatever YAML would make of it, it is a text."""
    store = bench.open()
    for number, (given, kept) in enumerate(
        (
            ("  two\n\twords\x00\x85\u2028 ", "two words"),
            ('- "it\'s": #1 \\ {a} [b] *c &d !e %f @g', '- "it\'s": #1 \\ {a} [b] *c &d !e %f @g'),
            ("null", "null"),
            ("2026-08-01", "2026-08-01"),
            ("---", "---"),
            ("\U0001f600" * (DESCRIPTION_LIMIT + 1), "\U0001f600" * DESCRIPTION_LIMIT),
            ("\ud800 alone", "\ufffd alone"),
        )
    ):
        await store.create(f"k{number}", given, "")
        assert (await store.read(f"k{number}")).description == kept
        assert (await store.list())[number] == Entry(f"k{number}", kept)


async def the_listing_is_in_code_point_order(bench: Bench) -> None:
    """Capitals before small letters, whatever the order of creation."""
    store = bench.open()
    for key in ("b", "B", "a.b", "a", "a-b"):
        await store.create(key, "d", "")
    assert [entry.key for entry in await store.list()] == ["B", "a", "a-b", "a.b", "b"]


async def every_method_refuses_a_bad_key_first(bench: Bench) -> None:
    """Before it looks at anything else, and a good key of any shape passes."""
    store = bench.open()
    for key in BAD_KEYS:
        for attempt in (store.read, store.peek, store.delete):
            with pytest.raises(MemoryInputError, match="key"):
                await attempt(key)
        for put in (store.create, store.update):
            with pytest.raises(MemoryInputError, match="key"):
                await put(key, "", "x" * (CONTENT_LIMIT_BYTES + 1))
    for key in GOOD_KEYS:
        await store.create(key, "d", key)
        assert (await store.read(key)).content == key


async def a_write_over_a_limit_stores_nothing(bench: Bench) -> None:
    """An empty description is found before a large content."""
    store = bench.open()
    with scope.attached():
        for put in (store.create, store.update):
            with pytest.raises(MemoryInputError, match="description"):
                await put("k", " \n", "x" * (CONTENT_LIMIT_BYTES + 1))
            with pytest.raises(MemoryInputError, match=str(CONTENT_LIMIT_BYTES)):
                await put("k", "d", "é" * (CONTENT_LIMIT_BYTES // 2) + "x")
    assert await store.list() == []


async def a_missing_memory_is_not_found(bench: Bench) -> None:
    """Reading makes nothing."""
    store = bench.open()
    for attempt in (store.read, store.peek):
        with pytest.raises(NotFoundError):
            await attempt("nothing")
    assert await store.list() == []


async def a_memory_is_created_once(bench: Bench) -> None:
    """What is there stays."""
    store = bench.open()
    await store.create("k", "first", "1")
    with pytest.raises(ExistsError):
        await bench.open().create("k", "second", "2")
    assert await store.read("k") == Memory("first", "1")


async def of_many_creators_one_wins(bench: Bench) -> None:
    """The others are told that the memory exists, and it is the winner's whole."""
    stores = [bench.open() for _ in range(8)]
    made = await asyncio.gather(
        *(store.create("k", f"d{n}", f"c{n}" * 1000) for n, store in enumerate(stores)),
        return_exceptions=True,
    )
    winners = [number for number, outcome in enumerate(made) if outcome is None]
    losers = [outcome for outcome in made if isinstance(outcome, ExistsError)]
    assert (len(winners), len(losers)) == (1, len(stores) - 1)
    (winner,) = winners
    assert await stores[0].peek("k") == Memory(f"d{winner}", f"c{winner}" * 1000)


async def a_memory_that_was_read_can_be_updated(bench: Bench) -> None:
    """Again and again: an update is as good as a read."""
    store = bench.open()
    await store.create("k", "first", "1")
    with scope.attached():
        await store.read("k")
        await store.update("k", "second", "2")
        await store.update("k", "third", "3")
        assert await bench.open().peek("k") == Memory("third", "3")


async def a_memory_that_was_created_can_be_updated(bench: Bench) -> None:
    """By the run that created it."""
    store = bench.open()
    with scope.attached():
        await store.create("k", "first", "1")
        await store.update("k", "second", "2")
        assert await store.read("k") == Memory("second", "2")


async def a_deleted_memory_is_gone(bench: Bench) -> None:
    """Deleting says whether there was one, and the key can be used again."""
    store = bench.open()
    await store.create("k", "d", "1")
    assert await bench.open().delete("k") is True
    assert await store.delete("k") is False
    assert await store.list() == []
    with pytest.raises(NotFoundError):
        await store.read("k")
    await store.create("k", "d", "2")
    assert (await store.read("k")).content == "2"


async def a_full_store_creates_nothing_more(bench: Bench) -> None:
    """Not even a key that exists; an update and, after a delete, a creation pass."""
    store = bench.open()
    with scope.attached():
        keys = (f"k{number}" for number in range(ENTRIES_LIMIT))
        await asyncio.gather(*(store.create(key, "d", "") for key in keys))
        for key in ("one.more", "k0"):
            with pytest.raises(MemoryFullError, match="memory is full"):
                await store.create(key, "d", "")
        await store.update("k0", "d", "changed")
        await store.delete("k0")
        await store.create("one.more", "d", "")
    assert len(await store.list()) == ENTRIES_LIMIT


async def an_update_needs_a_read_where_that_is_asked_for(bench: Bench) -> None:
    """Listing and peeking are no reads; a key that does not exist is no exception."""
    store = bench.open()
    await store.create("k", "d", "1")
    with scope.attached() as known:
        await store.list()
        await store.peek("k")
        assert known.snapshot() == {}
        for key in ("k", "missing"):
            if bench.reads_before_update:
                with pytest.raises(StaleError):
                    await store.update(key, "d", "2")
            else:
                await store.update(key, "d", "2")
    assert (await store.peek("k")).content == ("1" if bench.reads_before_update else "2")
    assert len(await store.list()) == (1 if bench.reads_before_update else 2)


async def a_change_by_another_run_takes_the_authority_away(bench: Bench) -> None:
    """Until it is read again; where nobody asks, the last to write wins."""
    mine, other = bench.open(), bench.open()
    await mine.create("k", "d", "1")
    with scope.attached():
        await mine.read("k")
        await _changed_elsewhere(other, "k")
        if bench.reads_before_update:
            for _ in range(2):  # a stale update takes the authority back for good
                with pytest.raises(StaleError):
                    await mine.update("k", "d", "mine")
            await mine.read("k")
        await mine.update("k", "d", "mine")
        assert (await other.peek("k")).content == "mine"


async def a_memory_deleted_and_made_again_is_another(bench: Bench) -> None:
    """A revision of the old one gives no right to the new one."""
    store = bench.open()
    await store.create("k", "d", "1")
    with scope.attached() as known:
        await store.read("k")
        await store.delete("k")
        assert known.snapshot() == {}
        await _created_elsewhere(bench.open(), "k")
        if bench.reads_before_update:
            with pytest.raises(StaleError):
                await store.update("k", "d", "mine")
        else:
            await store.update("k", "d", "mine")


async def a_seeded_run_may_update_what_the_run_before_it_read(bench: Bench) -> None:
    """What one run knew is handed to the next."""
    store = bench.open()
    await store.create("k", "d", "1")
    with scope.attached() as first:
        await store.read("k")
        known = first.snapshot()
    assert set(known) == ({"k"} if bench.reads_before_update else set())
    with scope.attached() as second:
        second.seed(known)
        await bench.open().update("k", "d", "2")


async def _changed_elsewhere(store: MemoryStore, key: str) -> None:
    with scope.attached():
        await store.read(key)
        await store.update(key, "theirs", "theirs")


async def _created_elsewhere(store: MemoryStore, key: str) -> None:
    with scope.attached():
        await store.create(key, "theirs", "theirs")


CHECKS: tuple[Check, ...] = (
    an_empty_store_lists_nothing,
    a_created_memory_is_read_back,
    any_content_comes_back_as_it_was,
    descriptions_are_stored_in_their_normal_form,
    the_listing_is_in_code_point_order,
    every_method_refuses_a_bad_key_first,
    a_write_over_a_limit_stores_nothing,
    a_missing_memory_is_not_found,
    a_memory_is_created_once,
    of_many_creators_one_wins,
    a_memory_that_was_read_can_be_updated,
    a_memory_that_was_created_can_be_updated,
    a_deleted_memory_is_gone,
    a_full_store_creates_nothing_more,
    an_update_needs_a_read_where_that_is_asked_for,
    a_change_by_another_run_takes_the_authority_away,
    a_memory_deleted_and_made_again_is_another,
    a_seeded_run_may_update_what_the_run_before_it_read,
)
"""Every check; each is given a bench of its own that holds nothing."""
