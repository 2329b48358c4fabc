from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fisk_ai.errors import ConfigError, ExistsError, NotFoundError, SetupError, StoreError
from fisk_ai.memory import builtin, store
from fisk_ai.memory.file import FileMemory, directory_of
from fisk_ai.memory.limits import VALUE_LIMIT_BYTES
from fisk_ai.memory.store import Entry, Memory, MemoryConfig, MemoryInfo


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "state" / "memory"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def memory(directory: Path) -> FileMemory:
    return FileMemory(directory)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def remove(directory: Path) -> None:
    directory.rmdir()


def files_of(directory: Path) -> dict[str, int]:
    return {path.name: mode_of(path) for path in directory.iterdir()}


async def test_directory_and_files_belong_to_their_user_alone(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "memory"
    memory = FileMemory(directory)
    await memory.create("k", "d", "c")
    await memory.create("l", "d", "c")
    await memory.update("l", "d", "changed")
    assert mode_of(directory) == 0o700
    assert files_of(directory) == {"k.md": 0o600, "l.md": 0o600}


async def test_the_first_memory_makes_the_directory_and_nothing_else_does(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "memory"
    memory = FileMemory(directory)
    await memory.bind()
    assert await memory.list() == []
    assert await memory.delete("k") is False
    with pytest.raises(NotFoundError):
        await memory.read("k")
    assert files_of(tmp_path) == {}
    await memory.update("k", "d", "c")
    assert list(files_of(directory)) == ["k.md"]


async def test_a_memory_of_another_worker_is_found_in_a_directory_that_was_not_there(
    tmp_path: Path,
) -> None:
    mine, theirs = FileMemory(tmp_path / "memory"), FileMemory(tmp_path / "memory")
    await theirs.create("k", "d", "c")
    assert await mine.list() == [Entry("k", "d")]
    await mine.create("l", "d", "c")


async def test_a_file_holds_the_header_and_the_body(memory: FileMemory, directory: Path) -> None:
    await memory.create("k", "Where it is", "here\n")
    assert (directory / "k.md").read_bytes() == b"---\ndescription: Where it is\n---\n\nhere\n"


async def test_a_file_written_by_hand_is_read(memory: FileMemory, directory: Path) -> None:
    (directory / "hand.md").write_text("no header\n")
    (directory / "head.md").write_text("---\ndescription: two\n  lines\n---\nbody")
    assert await memory.read("hand") == Memory("", "no header\n")
    assert await memory.read("head") == Memory("two lines", "body")
    assert await memory.list() == [Entry("hand", ""), Entry("head", "two lines")]


def plant_link(path: Path) -> None:
    (path.parent / "target").write_text("secret")
    path.symlink_to(path.parent / "target")


def plant_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def plant_pipe(path: Path) -> None:
    os.mkfifo(path)


def plant_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def plant_directory(path: Path) -> None:
    path.mkdir()


PLANTED = [plant_link, plant_dangling_link, plant_pipe, plant_device_link, plant_directory]


@pytest.mark.parametrize("plant", PLANTED)
async def test_what_is_no_regular_file_is_neither_read_nor_listed_nor_missing(
    memory: FileMemory, directory: Path, plant: object
) -> None:
    assert callable(plant)
    plant(directory / "k.md")
    with pytest.raises(StoreError, match="no regular file") as caught:
        await memory.read("k")
    assert not isinstance(caught.value, NotFoundError)
    assert await memory.list() == []
    with pytest.raises(ExistsError):
        await memory.create("k", "d", "c")


async def test_a_socket_is_neither_read_nor_listed(
    memory: FileMemory, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind("k.md")
        with pytest.raises(StoreError, match="no regular file"):
            await memory.read("k")
        assert await memory.list() == []


async def test_a_device_is_neither_read_nor_listed(memory: FileMemory, directory: Path) -> None:
    path = directory / "k.md"
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only the superuser makes devices")
    with pytest.raises(StoreError):
        await memory.read("k")
    assert await memory.list() == []


async def test_an_update_replaces_a_planted_link_and_never_its_target(
    memory: FileMemory, directory: Path
) -> None:
    plant_link(directory / "k.md")
    await memory.update("k", "d", "mine")
    assert (directory / "target").read_text() == "secret"
    assert not (directory / "k.md").is_symlink()
    assert await memory.read("k") == Memory("d", "mine")


async def test_a_deleted_link_leaves_its_target(memory: FileMemory, directory: Path) -> None:
    plant_link(directory / "k.md")
    assert await memory.delete("k") is True
    assert (directory / "target").read_text() == "secret"


async def test_a_directory_in_the_place_of_a_memory_is_an_error_of_every_write(
    memory: FileMemory, directory: Path
) -> None:
    (directory / "k.md").mkdir()
    for attempt in (memory.update("k", "d", "c"), memory.delete("k")):
        with pytest.raises(StoreError) as caught:
            await attempt
        assert str(directory) not in str(caught.value)
    assert list(files_of(directory)) == ["k.md"]


async def test_a_listing_leaves_out_what_is_no_memory(memory: FileMemory, directory: Path) -> None:
    await memory.create("k", "d", "c")
    for name in (".memtmp-abc", ".hidden.md", "a b.md", "a..b.md", "x.txt", ".md", "é.md", "md"):
        (directory / name).write_text("planted")
    assert await memory.list() == [Entry("k", "d")]


async def test_a_listing_leaves_out_what_cannot_be_read(
    memory: FileMemory, directory: Path
) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser reads everything")
    await memory.create("k", "d", "c")
    (directory / "k.md").chmod(0)
    assert await memory.list() == []


async def test_what_a_killed_writer_left_behind_hinders_nobody(
    memory: FileMemory, directory: Path
) -> None:
    (directory / ".memtmp-left").write_bytes(b"---\ndescr")
    await memory.create("k", "d", "c")
    assert await memory.list() == [Entry("k", "d")]


async def test_a_planted_file_is_read_no_further_than_a_memory_goes(
    memory: FileMemory, directory: Path
) -> None:
    with (directory / "k.md").open("wb") as file:
        file.write(b"---\ndescription: large\n---\n")
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match=str(VALUE_LIMIT_BYTES)):
        await memory.read("k")
    assert await memory.list() == [Entry("k", "large")]


async def test_a_directory_that_vanished_is_an_error_without_its_path(
    memory: FileMemory, directory: Path
) -> None:
    remove(directory)
    for attempt in (memory.list(), memory.create("k", "d", "c"), memory.update("k", "d", "c")):
        with pytest.raises(StoreError) as caught:
            await attempt
        assert str(directory) not in str(caught.value)
    assert await memory.delete("k") is False


async def test_an_update_changes_a_full_store(memory: FileMemory, directory: Path) -> None:
    for number in range(1024):
        (directory / f"k{number}.md").touch()
    await memory.update("one.more", "d", "c")
    assert (await memory.read("one.more")).content == "c"
    with pytest.raises(StoreError, match="memory is full"):
        await memory.create("another", "d", "c")


CREATOR = """
import asyncio, sys
from pathlib import Path
from fisk_ai.errors import ExistsError
from fisk_ai.memory.file import FileMemory

async def main(directory, name):
    memory = FileMemory(Path(directory))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(40):
        try:
            await memory.create(f"k{number}", f"of {name}", name * 5000)
            print(f"k{number}")
        except ExistsError:
            pass

asyncio.run(main(*sys.argv[1:]))
"""


async def test_of_several_processes_that_create_a_memory_one_wins(
    memory: FileMemory, directory: Path
) -> None:
    def started(name: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CREATOR, str(directory), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run() -> dict[str, list[str]]:
        creators = {name: started(name) for name in ("a", "b", "c")}
        for creator in creators.values():
            assert creator.stdout is not None
            assert creator.stdout.readline() == "ready\n"
        for creator in creators.values():
            assert creator.stdin is not None
            creator.stdin.write("go\n")
            creator.stdin.flush()
        return {name: creator.communicate()[0].split() for name, creator in creators.items()}

    won = await asyncio.to_thread(run)
    keys = [key for keys in won.values() for key in keys]
    assert sorted(keys) == sorted(f"k{number}" for number in range(40))
    for name, theirs in won.items():
        for key in theirs:
            assert await memory.read(key) == Memory(f"of {name}", name * 5000)
    assert all(name.endswith(".md") for name in files_of(directory))


async def test_a_reader_never_sees_half_a_memory(memory: FileMemory) -> None:
    await memory.create("k", "0", "0" * 60000)
    whole = {Memory(str(number), str(number) * 60000) for number in range(3)}

    async def write() -> None:
        for turn in range(30):
            await memory.update("k", str(turn % 3), str(turn % 3) * 60000)

    writing = asyncio.ensure_future(write())
    seen = {await memory.read("k")}
    while not writing.done():
        seen.add(await memory.read("k"))
    await writing
    assert seen <= whole


def test_the_backend_is_registered_and_names_no_path(tmp_path: Path) -> None:
    assert "file" in builtin.store.names()
    made = store.new("file", MemoryConfig(identity="cow", base=tmp_path))
    assert made.info() == MemoryInfo("file", "")


def test_an_unknown_backend_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r'unknown memory backend "x": known .* \[.*file.*\]'):
        store.new("x", MemoryConfig(identity="cow"))


@pytest.mark.parametrize(
    ("options", "base", "expected"),
    [
        ({}, None, "memory/cow"),
        ({}, "/base", "/base/memory/cow"),
        ({"directory": ""}, "/base", "/base/memory/cow"),
        ({"directory": "notes"}, None, "notes"),
        ({"directory": "notes"}, "/base", "/base/notes"),
        ({"directory": "/elsewhere/notes"}, "/base", "/elsewhere/notes"),
    ],
)
def test_memories_are_kept_where_the_configuration_says(
    options: dict[str, object], base: str | None, expected: str
) -> None:
    config = MemoryConfig(identity="cow", options=options, base=Path(base) if base else None)
    assert directory_of(config) == Path(expected)


@pytest.mark.parametrize(
    ("options", "says", "key"),
    [
        ({"dir": "x"}, 'unknown key "dir", known are [directory]', "dir"),
        ({"bucket": "x", "directory": "y"}, 'unknown key "bucket"', "bucket"),
        ({"directory": 5}, "directory must be text, not a whole number", "directory"),
        ({"directory": None}, "directory must be text, not nothing", "directory"),
        ({"directory": ["a"]}, "directory must be text, not a list", "directory"),
        ({"directory": "a\0b"}, "directory must be a path", "directory"),
    ],
)
def test_options_the_backend_does_not_take_are_refused_by_name(
    options: dict[str, object], says: str, key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        store.new("file", MemoryConfig(identity="cow", options=options))
    assert str(caught.value).startswith("invalid file memory options: ")
    assert says in str(caught.value)
    assert caught.value.key == f"harness.memory.options.{key}"


@pytest.mark.parametrize("identity", ["", "..", "a/b"])
def test_an_identity_that_is_no_directory_asks_for_one(identity: str) -> None:
    with pytest.raises(ConfigError, match=r"harness\.memory\.options\.directory"):
        directory_of(MemoryConfig(identity=identity))
    assert directory_of(MemoryConfig(identity=identity, options={"directory": "d"})) == Path("d")


def test_a_place_that_cannot_be_used_is_found_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="cannot be used") as caught:
        FileMemory(tmp_path / "file" / "memory")
    assert caught.value.key == "harness.memory.options.directory"
    with pytest.raises(SetupError):
        FileMemory(tmp_path / "file")


@pytest.mark.parametrize("name", ["", "file"])
def test_a_backend_is_registered_once_and_by_a_name(name: str) -> None:
    def factory(_: MemoryConfig) -> FileMemory:
        raise AssertionError

    with pytest.raises(ValueError, match="memory backend"):
        store.register(name, factory)
