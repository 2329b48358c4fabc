"""What stands under a session's name: only the regular file that its holder wrote."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai.errors import CorruptError, NotFoundError, StoreError
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.session_records import assistant, meta, result


def _remove(path: Path) -> None:
    path.unlink()


def _remove_directory(path: Path) -> None:
    shutil.rmtree(path.parent)


def _move_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def _replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    copy.replace(path)


def _cut(path: Path) -> None:
    os.truncate(path, 3)


def _extend(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"theirs\n")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_remove, "was removed or replaced while it ran"),
        (_remove_directory, "was removed or replaced while it ran"),
        (_move_directory, "was removed or replaced while it ran"),
        (_replace, "was removed or replaced while it ran"),
        (_cut, "was changed by something else while it ran"),
        (_extend, "was changed by something else while it ran"),
    ],
)
async def test_a_session_that_somebody_else_touched_is_not_written_any_more(
    store: FileStore, directory: Path, change: Callable[[Path], None], reason: str
) -> None:
    journal = await store.create("one", meta())
    await journal.append(2, assistant("a"))
    await journal.check_held()
    path = directory / "one.json"
    change(path)
    left = path.read_bytes() if path.exists() else None

    with pytest.raises(StoreError, match=f"session one {reason}"):
        await journal.check_held()
    with pytest.raises(StoreError, match=f"session one {reason}"):
        await journal.append(3, result("a"))

    await journal.close()
    assert (path.read_bytes() if path.exists() else None) == left


@pytest.fixture
def pipe(directory: Path, store: FileStore) -> Path:
    """Return a pipe where the session ``pipe`` would be; opening one to read waits."""
    assert store.info().backend == "file"
    path = directory / "pipe.json"
    os.mkfifo(path)
    return path


async def test_a_pipe_under_a_sessions_name_is_refused_by_name(
    store: FileStore, pipe: Path
) -> None:
    for work in (store.load, store.records, store.open):
        with pytest.raises(CorruptError, match=r"pipe\.json is no regular file"):
            await work("pipe")
    assert await store.list(Filter()) == []


async def test_a_pipe_under_a_sessions_name_can_be_removed(store: FileStore, pipe: Path) -> None:
    await store.delete("pipe")
    with pytest.raises(NotFoundError):
        await store.load("pipe")


async def test_a_directory_in_place_of_a_lock_is_refused_by_name(
    store: FileStore, directory: Path
) -> None:
    await (await store.create("two", meta())).close()
    (directory / "two.lock").unlink()
    for name in ("one", "two"):
        (directory / f"{name}.lock").mkdir()
    refused = r"{}\.lock is no regular file, so it can be no lock; remove it"
    with pytest.raises(CorruptError, match=refused.format("one")):
        await store.create("one", meta())
    for work in (store.open, store.held_by, store.delete):
        with pytest.raises(CorruptError, match=refused.format("two")):
            await work("two")
    await store.load("two")


async def test_a_directory_in_place_of_a_session_is_refused_by_name(
    store: FileStore, directory: Path
) -> None:
    (directory / "one.json").mkdir()
    for work in (store.load, store.records, store.open):
        with pytest.raises(CorruptError, match=r"one\.json is no regular file"):
            await work("one")


async def test_a_pipe_in_place_of_a_lock_is_refused_by_name(
    store: FileStore, directory: Path
) -> None:
    os.mkfifo(directory / "one.lock")
    with pytest.raises(CorruptError, match=r"one\.lock is no regular file"):
        await store.create("one", meta())
