from __future__ import annotations

import asyncio
import base64
import fcntl
import os
import resource
import shutil
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fisk_ai.errors import (
    CorruptError,
    EmptyError,
    ExistsError,
    InvalidCursorError,
    LockedError,
    NotFoundError,
    SetupError,
    StoreError,
)
from fisk_ai.sessions import codec
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import MemoryRevisions, Payload
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.session_records import (
    assistant,
    claim,
    journal,
    meta,
    result,
    terminal,
    user,
    writing,
)


async def _write(store: FileStore, run_id: str, *payloads: Payload) -> None:
    handle = await store.create(run_id, meta())
    for payload in payloads:
        await handle.append(handle.last_seq() + 1, payload)
    await handle.close()


def _modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


def _bodies(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


@contextmanager
def _disk_full_at(size_bytes: int) -> Generator[None]:
    """Make every write beyond that size of a file fail, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_session_is_one_line_for_each_record(store: FileStore, directory: Path) -> None:
    await _write(store, "one", user("a"), terminal())
    *lines, end = _bodies(directory / "one.json")
    assert end == b""
    assert [codec.decode(line).seq for line in lines] == [1, 2, 3]


async def test_sessions_are_private_to_their_user(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "runs"
    await _write(FileStore(directory), "one")
    assert _modes(directory) == {"one.json": 0o600, "one.lock": 0o600}
    assert _modes(directory.parent)["runs"] == 0o700


async def test_the_first_session_makes_the_directory_and_nothing_else_does(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "state" / "runs")
    await store.bind()
    assert await store.list(Filter()) == []
    await store.delete("one")
    for work in (store.load, store.records, store.open):
        with pytest.raises(NotFoundError):
            await work("one")
    assert await store.held_by("one") == ""
    assert _modes(tmp_path) == {}
    await _write(store, "one")
    assert await store.held_by("one") == ""


async def test_a_held_session_is_refused_in_the_same_process_and_from_another(
    store: FileStore, directory: Path
) -> None:
    handle = await store.create("one", meta())
    for attempt in (store.open, store.delete):
        with pytest.raises(LockedError, match=rf"one is held by another run \(pid {os.getpid()}\)"):
            await attempt("one")
    await handle.close()
    with (directory / "one.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockedError, match="held by another run; wait"):
            await store.open("one")
        with pytest.raises(ExistsError):
            await store.create("one", meta())


async def test_another_creator_at_work_is_told_from_a_session_that_exists(
    store: FileStore, directory: Path
) -> None:
    with (directory / "one.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockedError):
            await store.create("one", meta())


async def test_opening_what_is_not_there_leaves_nothing_behind(
    store: FileStore, directory: Path
) -> None:
    with pytest.raises(NotFoundError):
        await store.open("one")
    assert _modes(directory) == {}


async def test_a_lock_that_a_dead_process_signed_is_held_by_nobody(
    store: FileStore, directory: Path
) -> None:
    await _write(store, "one")
    (directory / "one.lock").write_bytes(b"pid 7\n")
    assert await store.held_by("one") == ""
    assert (directory / "one.lock").read_bytes() == b"pid 7\n"
    async with writing(store, "two"):
        assert await store.held_by("two") == f"pid {os.getpid()}"
    (directory / "three.lock").mkdir()
    with pytest.raises(StoreError):
        await store.held_by("three")


async def test_a_lock_file_without_a_session_is_no_session(
    store: FileStore, directory: Path
) -> None:
    (directory / "one.lock").touch()
    with pytest.raises(NotFoundError):
        await store.open("one")
    await _write(store, "one")
    assert (await store.load("one")).last_seq == 1


def _delete_before_locking(
    monkeypatch: pytest.MonkeyPatch, times: int, *paths: Path
) -> Callable[[], int]:
    """Let a delete come between opening a lock file and locking it; return how often it did."""
    take = fcntl.flock
    deletes = 0

    def flock(fd: int, operation: int) -> None:
        nonlocal deletes
        if deletes < times:
            deletes += 1
            for path in paths:
                path.unlink()
        take(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    return lambda: deletes


async def test_a_lock_that_a_delete_replaced_is_taken_anew(
    store: FileStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write(store, "one")
    _delete_before_locking(monkeypatch, 1, directory / "one.lock")
    handle = await store.open("one")
    with pytest.raises(LockedError):
        await store.open("one")
    await handle.close()


async def test_a_lock_that_is_replaced_again_and_again_is_given_up(
    store: FileStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write(store, "one")
    deletes = _delete_before_locking(monkeypatch, 1000, directory / "one.lock")
    with pytest.raises(LockedError):
        await store.open("one")
    assert deletes() < 1000


async def test_a_session_deleted_while_it_is_opened_is_not_found(
    store: FileStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _write(store, "one")
    _delete_before_locking(monkeypatch, 1, directory / "one.json")
    with pytest.raises(NotFoundError):
        await store.open("one")
    await _write(store, "one")


async def test_a_session_that_does_not_fold_is_named(store: FileStore, directory: Path) -> None:
    first, second = (codec.encode(record) for record in journal(user("x")))
    (directory / "one.json").write_bytes(b"\n".join([first, second, second]))
    with pytest.raises(
        CorruptError, match="session one: record 2 stands behind record 2; restore the"
    ):
        await store.load("one")


@pytest.mark.parametrize(
    "place",
    [
        "2026-01-01T00:00:00Z|../x",
        "2026-01-01T02:00:00+02:00|a",
        "2026-01-01T00:00:00.0Z|a",
        "2026-01-01|a",
        "2026-01-01T00:00:00Z",
        "\xff",
    ],
)
async def test_a_cursor_that_this_store_would_not_write_is_refused(
    store: FileStore, place: str
) -> None:
    cursor = base64.urlsafe_b64encode(place.encode("latin-1")).decode().rstrip("=")
    with pytest.raises(InvalidCursorError):
        await store.list_page(Filter(), 1, cursor)


@pytest.mark.parametrize("left", [b"", b'{"seq":1,"prot', b"\n"])
async def test_a_creation_that_died_leaves_its_id_usable(
    store: FileStore, directory: Path, left: bytes
) -> None:
    (directory / "one.json").write_bytes(left)
    for attempt in (store.load, store.open, store.records):
        with pytest.raises(EmptyError):
            await attempt("one")
    assert await store.list(Filter()) == []
    await _write(store, "one", user("x"))
    assert (await store.load("one")).last_seq == 2


async def test_a_damaged_file_is_not_taken_for_an_unborn_one(
    store: FileStore, directory: Path
) -> None:
    (directory / "one.json").write_bytes(b"junk\njunk\n")
    with pytest.raises(ExistsError):
        await store.create("one", meta())
    with pytest.raises(CorruptError, match=r"one\.json line 1"):
        await store.open("one")
    await store.delete("one")


async def test_damage_names_file_and_line_and_spares_other_sessions(
    store: FileStore, directory: Path
) -> None:
    await _write(store, "good", user("x"))
    await _write(store, "bad", user("x"), user("y"))
    bad = directory / "bad.json"
    bad.write_bytes(bad.read_bytes().replace(b'"seq":2', b'"seq":!', 1))
    for attempt in (store.load, store.open, store.records):
        with pytest.raises(CorruptError, match=r"bad\.json line 2"):
            await attempt("bad")
    assert [row.run_id for row in await store.list(Filter())] == ["good"]
    assert [row.run_id for row in await store.describe(Filter(), ["bad", "good"])] == ["good"]


@pytest.mark.parametrize("torn", [b'{"seq":3,"protocol', b'{"seq":3,"protocol\n'])
async def test_a_torn_last_line_is_cut_away_before_the_next_record(
    store: FileStore, directory: Path, torn: bytes
) -> None:
    await _write(store, "one", user("x"))
    with (directory / "one.json").open("ab") as file:
        file.write(torn)
    assert (await store.load("one")).last_seq == 2
    handle = await store.open("one")
    assert handle.last_seq() == 2
    await handle.append(3, user("y"))
    await handle.close()
    assert (await store.load("one")).last_seq == 3


async def test_a_record_that_lacks_its_newline_is_completed(
    store: FileStore, directory: Path
) -> None:
    await _write(store, "one", user("x"))
    path = directory / "one.json"
    path.write_bytes(path.read_bytes()[:-1])
    handle = await store.open("one")
    await handle.append(3, user("y"))
    await handle.close()
    assert (await store.load("one")).last_seq == 3
    assert path.read_bytes().count(b"\n") == 3


async def test_a_full_disk_is_said_and_the_retry_writes_the_same_bytes(
    store: FileStore, directory: Path
) -> None:
    handle = await store.create("one", meta())
    path = directory / "one.json"
    size = path.stat().st_size
    with _disk_full_at(size + 50), pytest.raises(StoreError) as refused:
        await handle.append(2, user("x"))
    assert f"record 2 of session one could not be made durable in {directory}: File too large" in (
        str(refused.value)
    )
    assert (handle.last_seq(), path.stat().st_size) == (1, size + 50)
    left = path.read_bytes()[size:]
    await handle.append(2, user("x"))
    assert path.read_bytes()[size:].startswith(left)
    await handle.append(3, user("y"))
    await handle.close()
    assert fold(await store.records("one")).last_seq == 3


async def test_a_failed_snapshot_of_revisions_does_not_cost_the_terminal(
    store: FileStore, directory: Path
) -> None:
    handle = await store.create("one", meta())
    size = (directory / "one.json").stat().st_size
    with _disk_full_at(size + 10), pytest.raises(StoreError):
        await handle.append(2, MemoryRevisions(revisions={"k": 1}))
    await handle.append(handle.last_seq() + 1, terminal())
    await handle.close()
    state = await store.load("one")
    assert (state.status, state.scope_seed, state.last_seq) == ("completed", {}, 2)


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_a_creation_on_a_full_disk_leaves_no_session_and_no_lock_file(
    store: FileStore, directory: Path
) -> None:
    with _disk_full_at(20), pytest.raises(StoreError, match="record 1 of session one"):
        await store.create("one", meta())
    assert _names(directory) == []
    await _write(store, "one")


async def test_a_refused_creation_leaves_the_lock_file_of_the_session_that_is_there(
    store: FileStore, directory: Path
) -> None:
    await _write(store, "one")
    with pytest.raises(ExistsError):
        await store.create("one", meta())
    assert _names(directory) == ["one.json", "one.lock"]


async def test_a_directory_that_vanished_is_named(store: FileStore, directory: Path) -> None:
    shutil.rmtree(directory)
    with pytest.raises(StoreError, match=f"sessions in {directory} cannot be written: No such"):
        await store.create("one", meta())
    assert await store.list(Filter()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_directory_that_cannot_be_made_is_refused_at_construction(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as refused:
        FileStore(tmp_path / place)
    assert f"the session directory {tmp_path / place} cannot be used: " in str(refused.value)
    assert refused.value.key == "harness.sessions.options.directory"


def test_a_directory_that_cannot_be_written_is_refused_at_construction() -> None:
    with pytest.raises(SetupError, match="the session directory /proc/sys cannot be used"):
        FileStore(Path("/proc/sys/fisk-ai").parent)


async def test_a_session_of_another_place_is_only_copied(
    store: FileStore, directory: Path, golden: Path
) -> None:
    path = directory / "copied.json"
    path.write_bytes((golden / "go-early.json").read_bytes())
    handle = await store.open("copied")
    await handle.append(handle.last_seq() + 1, claim())
    await handle.close()
    whole = (golden / "go-early.json").read_bytes()
    assert path.read_bytes().startswith(whole[: whole.rindex(b"\n") + 1])
    assert (await store.load("copied")).status == "completed"


async def test_every_death_between_two_records_loads_what_was_recorded(
    store: FileStore, directory: Path
) -> None:
    records = journal(
        assistant("a", "b", "c"), result("a"), result("b"), result("c"), assistant(say="end")
    )
    data = b""
    for length, record in enumerate(records, start=1):
        data += codec.encode(record) + b"\n"
        (directory / "one.json").write_bytes(data)
        assert await store.load("one") == fold(records[:length])


async def test_listings_pass_over_what_is_no_session(store: FileStore, directory: Path) -> None:
    await _write(store, "good")
    (directory / "not an id.json").write_bytes(b"{}")
    (directory / "folder.json").mkdir()
    (directory / "other.txt").touch()
    (directory / "late.json").write_bytes(codec.encode(journal(user("x"))[1]) + b"\n")
    assert [row.run_id for row in await store.list(Filter())] == ["good"]
    page, cursor = await store.list_page(Filter(), 1, "")
    assert ([row.run_id for row in page], cursor) == (["good"], "")


async def test_an_old_journal_is_updated_when_its_file_was(
    store: FileStore, directory: Path, golden: Path
) -> None:
    path = directory / "old.json"
    path.write_bytes((golden / "go-early.json").read_bytes())
    (row,) = await store.list(Filter())
    assert row.created == "2025-12-01T08:00:00-05:00"
    assert row.updated > "2026"


async def test_a_cancelled_append_is_waited_for_and_counts(store: FileStore) -> None:
    handle = await store.create("one", meta())
    task = asyncio.ensure_future(handle.append(2, user("x")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert handle.last_seq() == 2
    await handle.close()
    assert (await store.load("one")).last_seq == 2


async def test_a_slow_disk_does_not_hold_up_anything_else(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await store.create("one", meta())
    syncing, go_on = threading.Event(), threading.Event()
    sync = os.fsync

    def slow_fsync(fd: int) -> None:
        syncing.set()
        assert go_on.wait(10)
        sync(fd)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    task = asyncio.ensure_future(handle.append(2, user("x")))
    assert await asyncio.to_thread(syncing.wait, 10)
    assert (handle.last_seq(), task.done()) == (1, False)
    go_on.set()
    await task
    assert handle.last_seq() == 2
    await handle.close()


async def test_a_cancelled_open_holds_nothing(store: FileStore) -> None:
    await _write(store, "one")
    task = asyncio.ensure_future(store.open("one"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await (await store.open("one")).close()


async def test_a_closed_handle_writes_no_more(store: FileStore) -> None:
    handle = await store.create("one", meta())
    await handle.close()
    with pytest.raises(StoreError, match="closed"):
        await handle.append(2, user("x"))


async def test_a_deleted_session_leaves_no_file(store: FileStore, directory: Path) -> None:
    await _write(store, "one")
    await store.delete("one")
    assert _modes(directory) == {}
