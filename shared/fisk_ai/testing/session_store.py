"""What every session store promises, written once and run for each backend.

Parametrise a test with :data:`CHECKS` and hand each one a fresh store::

    @pytest.mark.parametrize("check", session_store.CHECKS, ids=session_store.name_of)
    async def test_file_store(check, tmp_path):
        await check(FileStore(tmp_path))

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from fisk_ai.errors import (
    ExistsError,
    InvalidCursorError,
    InvalidIdError,
    InvalidLimitError,
    LockedError,
    NotFoundError,
    SeqGapError,
    StoreError,
    VersionError,
)
from fisk_ai.sessions.codec import protocol_of
from fisk_ai.sessions.records import (
    Decision,
    Deferred,
    MemoryRevisions,
    Terminal,
)
from fisk_ai.sessions.store import Filter, Store
from fisk_ai.testing import session_supply
from fisk_ai.testing.session_records import (
    assistant,
    claim,
    journal,
    meta,
    result,
    terminal,
    user,
    write,
    writing,
)

Check = Callable[[Store], Awaitable[None]]

HOSTILE_IDS = (
    "",
    "-x",
    "_x",
    "../x",
    "x/y",
    "x.y",
    "*",
    ">",
    "a b",
    "a\n",
    "a\0b",
    "é",
    "a" * 129,
)
"""Ids that would become a flag, a path, a wildcard or a second subject token."""


def name_of(check: Check) -> str:
    """Return a check's name, for the ids of parametrised tests."""
    return getattr(check, "__name__", "check")


async def _take(store: Store, run_id: str) -> None:
    """Take a session as a resume does: some stores refuse at the claim, not before it."""
    handle = await store.open(run_id)
    await handle.append(handle.last_seq() + 1, claim())


async def a_created_session_loads_as_its_prompt(store: Store) -> None:
    """The first record is the meta record, stamped with the id."""
    async with writing(store, "one") as handle:
        assert handle.last_seq() == 1
        state = await store.load("one")
    assert state.meta == replace(meta(), run_id="one")
    assert (state.status, state.last_seq) == ("open", 1)


async def records_come_back_as_they_were_appended(store: Store) -> None:
    """Through the handle and through the store, in order and stamped with a time."""
    payloads = (
        assistant("a", "b", say="<b>&\u2028 \U0001f600"),
        result("a"),
        Deferred(tool_use_id="b", tool_name="say", note="later", handle="h"),
        Decision(tool="say"),
        MemoryRevisions(revisions={"z": 1, "a": 2**64 - 1}),
        terminal("suspended"),
        claim(),
        user("go on", request="r"),
    )
    async with writing(store, "one", *payloads) as handle:
        assert await handle.records() == await store.records("one")
        records = await handle.records()
    assert tuple(record.payload for record in records[1:]) == payloads
    assert [record.seq for record in records] == list(range(1, len(payloads) + 2))
    assert [record.protocol for record in records[1:]] == [protocol_of(p) for p in payloads]
    assert all(record.time for record in records)


async def an_appended_number_is_written_once(store: Store) -> None:
    """Appending a number again changes nothing."""
    async with writing(store, "one", user("first")) as handle:
        await handle.append(2, user("second"))
        await handle.append(1, user("third"))
        assert handle.last_seq() == 2
        assert (await handle.records())[1].payload == user("first")


async def a_gap_is_refused(store: Store) -> None:
    """A number beyond the next one is a bug and writes nothing."""
    async with writing(store, "one") as handle:
        with pytest.raises(SeqGapError):
            await handle.append(3, user("no"))
        assert handle.last_seq() == 1
        assert len(await store.records("one")) == 1


async def a_record_that_breaks_its_rules_is_refused_before_it_is_written(store: Store) -> None:
    """Nothing unreadable gets in, and the session goes on."""
    async with writing(store, "one") as handle:
        for payload in (
            replace(assistant(), in_tokens=2**63),
            MemoryRevisions(revisions={"k": 0}),
            replace(claim(), claimed="yesterday"),
            meta(),
        ):
            with pytest.raises(StoreError):
                await handle.append(2, payload)
        await handle.append(2, user("fine"))
    assert (await store.load("one")).last_seq == 2


async def a_reopened_session_goes_on_at_the_next_number(store: Store) -> None:
    """What a closed handle wrote is what the next one finds."""
    await write(store, "one", user("a"))
    handle = await store.open("one")
    assert handle.last_seq() == 2
    await handle.check_held()
    await handle.append(3, user("b"))
    await handle.close()
    assert (await store.load("one")).last_seq == 3


async def closing_twice_is_harmless(store: Store) -> None:
    """And lets the next one in."""
    handle = await store.create("one", meta())
    await handle.close()
    await handle.close()
    await (await store.open("one")).close()


async def a_taken_id_is_not_created_again(store: Store) -> None:
    """Neither while it is held nor afterwards, and what is there stays."""
    async with writing(store, "one", user("mine")):
        with pytest.raises(ExistsError):
            await store.create("one", meta("yours"))
    with pytest.raises(ExistsError):
        await store.create("one", meta("yours"))
    assert (await store.load("one")).meta.prompt == "hello"


async def a_held_session_is_read_but_not_taken(store: Store) -> None:
    """A second writer is refused; readers and listings are not."""
    async with writing(store, "one", user("mine")):
        with pytest.raises(LockedError):
            await _take(store, "one")
        assert (await store.load("one")).last_seq == 2
        assert [row.run_id for row in await store.list(Filter())] == ["one"]


async def who_holds_a_session_is_told_without_taking_it(store: Store) -> None:
    """Looking keeps the session from nobody and makes nothing."""
    async with writing(store, "one", user("mine")) as handle:
        assert await store.held_by("one")
        await handle.check_held()
    assert await store.held_by("one") == ""
    assert await store.held_by("nobody") == ""
    handle = await store.open("one")
    await handle.close()
    with pytest.raises(NotFoundError):
        await store.load("nobody")


async def an_unknown_session_is_not_found(store: Store) -> None:
    """Reading or opening one makes nothing."""
    for attempt in (store.open, store.load, store.records):
        with pytest.raises(NotFoundError):
            await attempt("nobody")
    assert await store.list(Filter()) == []


async def hostile_ids_are_refused_everywhere(store: Store) -> None:
    """No id from outside becomes a flag, a path or a wildcard."""
    for run_id in HOSTILE_IDS:
        for attempt in (store.open, store.load, store.held_by, store.records, store.delete):
            with pytest.raises(InvalidIdError):
                await attempt(run_id)
        with pytest.raises(InvalidIdError):
            await store.create(run_id, meta())
    assert await store.describe(Filter(), HOSTILE_IDS) == []
    await write(store, "a" * 128)


async def another_format_version_is_not_created(store: Store) -> None:
    """Zero means the present version."""
    with pytest.raises(VersionError):
        await store.create("one", replace(meta(), version=2))
    handle = await store.create("one", replace(meta(), version=0))
    await handle.close()
    assert (await store.load("one")).meta.version == 3


async def a_listing_says_what_a_person_wants_to_know(store: Store) -> None:
    """One row, its status by the rule of the fold."""
    await write(store, "done", terminal())
    await write(store, "reopened", terminal(), claim(), user("more"))
    await write(store, "resumed", terminal("suspended"), claim())
    rows = {row.run_id: row for row in await store.list(Filter())}
    assert {run_id: row.status for run_id, row in rows.items()} == {
        "done": "completed",
        "reopened": "open",
        "resumed": "suspended",
    }
    assert rows["done"].terminal == Terminal(reason="completed")
    assert rows["reopened"].terminal is None
    assert (rows["done"].model, rows["done"].prompt) == ("small", "hello")
    assert rows["done"].updated >= rows["done"].created


async def _three(store: Store) -> None:
    for run_id, created, agent in (
        ("b-old", "2026-01-01T00:30:00+02:00", "cow"),
        ("b-new", "2026-01-01T23:59:59.5Z", "dog"),
        ("a-new", "2026-01-02T00:00:00Z", ""),
    ):
        handle = await store.create(run_id, meta(agent=agent, created=created))
        await handle.close()


async def listings_are_ordered_and_filtered(store: Store) -> None:
    """Oldest first by moment, whatever its zone; a row without an agent belongs to all."""
    await _three(store)

    async def ids(criteria: Filter) -> list[str]:
        return [row.run_id for row in await store.list(criteria)]

    assert await ids(Filter()) == ["b-old", "b-new", "a-new"]
    assert await ids(Filter(agent="cow")) == ["b-old", "a-new"]
    assert await ids(Filter(prefix="b-")) == ["b-old", "b-new"]
    assert await ids(Filter(agent="dog", prefix="a")) == ["a-new"]


async def pages_cover_the_listing_once(store: Store) -> None:
    """The last page has no cursor."""
    await _three(store)
    seen: list[str] = []
    cursor = ""
    for expected in (2, 1):
        page, cursor = await store.list_page(Filter(), 2, cursor)
        assert len(page) == expected
        seen += [row.run_id for row in page]
    assert (seen, cursor) == (["b-old", "b-new", "a-new"], "")


async def bad_pages_are_refused(store: Store) -> None:
    """A limit below one and a cursor from elsewhere."""
    await _three(store)
    for limit in (0, -1):
        with pytest.raises(InvalidLimitError):
            await store.list_page(Filter(), limit, "")
    for cursor in ("x", "0", "=", "é", "eHw="):
        with pytest.raises(InvalidCursorError):
            await store.list_page(Filter(), 1, cursor)


async def describing_keeps_the_order_asked_for(store: Store) -> None:
    """Duplicates once, unknown ones left out, the filter applied."""
    await _three(store)
    rows = await store.describe(Filter(), ["a-new", "nobody", "b-old", "a-new"])
    assert [row.run_id for row in rows] == ["a-new", "b-old"]
    rows = await store.describe(Filter(agent="cow"), ["b-new", "b-old"])
    assert [row.run_id for row in rows] == ["b-old"]


async def a_deleted_session_is_gone(store: Store) -> None:
    """Deleting twice is fine, and the id can be used again."""
    await write(store, "one", user("x"))
    await store.delete("one")
    await store.delete("one")
    with pytest.raises(NotFoundError):
        await store.load("one")
    await write(store, "one")
    assert (await store.load("one")).last_seq == 1


async def an_interrupted_batch_is_pending(store: Store) -> None:
    """A run that died between two tools keeps the first result and owes the second."""
    await write(store, "one", assistant("a", "b"), result("a"))
    state = await store.load("one")
    assert state.pending is not None
    assert state.pending.answered == {"a"}
    assert [record.seq for record in journal(assistant("a", "b"), result("a"))] == [
        record.seq for record in await store.records("one")
    ]


async def pages_of_any_length_cover_the_listing(store: Store) -> None:
    """Also where the moments of creation are the same."""
    names = [f"s{number}" for number in range(7)]
    for run_id in names:
        await write(store, run_id)
    for limit in range(1, 9):
        seen: list[str] = []
        page, cursor = await store.list_page(Filter(), limit, "")
        seen += [row.run_id for row in page]
        while cursor:
            page, cursor = await store.list_page(Filter(), limit, cursor)
            assert page
            seen += [row.run_id for row in page]
        assert seen == names


CHECKS: tuple[Check, ...] = (
    a_created_session_loads_as_its_prompt,
    records_come_back_as_they_were_appended,
    an_appended_number_is_written_once,
    a_gap_is_refused,
    a_record_that_breaks_its_rules_is_refused_before_it_is_written,
    a_reopened_session_goes_on_at_the_next_number,
    closing_twice_is_harmless,
    a_taken_id_is_not_created_again,
    a_held_session_is_read_but_not_taken,
    who_holds_a_session_is_told_without_taking_it,
    an_unknown_session_is_not_found,
    hostile_ids_are_refused_everywhere,
    another_format_version_is_not_created,
    a_listing_says_what_a_person_wants_to_know,
    listings_are_ordered_and_filtered,
    pages_cover_the_listing_once,
    bad_pages_are_refused,
    describing_keeps_the_order_asked_for,
    a_deleted_session_is_gone,
    an_interrupted_batch_is_pending,
    pages_of_any_length_cover_the_listing,
    *session_supply.CHECKS,
)
"""Every check; each is given a store of its own that holds nothing."""
