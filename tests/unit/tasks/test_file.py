from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fisk_ai.errors import CorruptError, LockedError, NotFoundError, SetupError, StoreError
from fisk_ai.tasks import file
from fisk_ai.tasks.file import TEMPORARY_PREFIX, FileTasks
from fisk_ai.testing import task_store

COMPLETER = """
import asyncio, sys
from pathlib import Path
from fisk_ai.errors import TaskCompletedError
from fisk_ai.tasks import file
from fisk_ai.tasks.file import FileTasks
from fisk_ai.testing import task_store

async def main():
    store = FileTasks(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(20):
        name = f"t{number}"
        try:
            await store.complete(name, task_store.result(sys.argv[2], name))
        except TaskCompletedError:
            continue
        print(name, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "tasks"
    place.mkdir()
    return place


@pytest.mark.fault
async def test_of_two_processes_that_complete_a_task_at_once_one_wins(directory: Path) -> None:
    store = FileTasks(directory)
    names = [f"t{number}" for number in range(20)]
    for name in names:
        await store.submit(task_store.request(name))
    command = [sys.executable, "-c", COMPLETER, str(directory)]
    completers = {
        who: subprocess.Popen(  # noqa: ASYNC220 - both must run at once, and nothing else does
            [*command, who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for who in ("left", "right")
    }
    for completer in completers.values():
        assert completer.stdout is not None
        assert completer.stdout.readline() == "ready\n"
    for completer in completers.values():
        assert completer.stdin is not None
        completer.stdin.write("\n")
        completer.stdin.flush()
    won = {who: completer.communicate()[0].split() for who, completer in completers.items()}
    assert sorted(won["left"] + won["right"]) == sorted(names)
    for who, theirs in won.items():
        for name in theirs:
            assert json.loads((await store.load(name)).result)["text"] == who
    assert set(os.listdir(directory)) == {f"{name}.json" for name in names}  # noqa: PTH208


async def test_the_bytes_of_a_task_are_those_of_the_other_implementation(directory: Path) -> None:
    store = FileTasks(directory)
    asked = b'{ "protocol": "io.choria.fisk-ai.v1.request.prompt", "request":"one","p":"a & b" }\n'
    made = await store.submit(asked)
    done = await store.complete("one", b'{"request":"one", "n":1.0}')
    assert (directory / "one.json").read_text() == (
        '{"id":"one","state":"completed","request":{"protocol":'
        r'"io.choria.fisk-ai.v1.request.prompt","request":"one","p":"a \u0026 b"},'
        f'"submitted":"{made.submitted}","result":{{"request":"one","n":1.0}},'
        f'"completed":"{done.completed}"}}\n'
    )


async def test_directory_and_files_belong_to_their_user_alone(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "tasks"
    store = FileTasks(directory)
    await store.submit(task_store.request())
    await store.complete("one", task_store.result())
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (directory, directory / "one.json")]  # noqa: PTH116
    assert modes == [0o700, 0o600]


async def test_a_link_is_not_followed_and_a_pipe_not_waited_on(
    directory: Path, tmp_path: Path
) -> None:
    store = FileTasks(directory)
    await store.submit(task_store.request("real"))
    (directory / "one.json").symlink_to(directory / "real.json")
    os.mkfifo(directory / "two.json")
    (directory / "three.json").mkdir()
    for name in ("one", "two", "three"):
        with pytest.raises(CorruptError, match=rf"{name}\.json is no regular file"):
            await store.load(name)
        with pytest.raises(CorruptError):
            await store.complete(name, task_store.result(tag=name))
    assert (await store.load("real")).state == "submitted"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"id":"one"',
        b'{"id":"one","state":"running","request":{},"submitted":"2026-01-01T00:00:00Z"}',
        b'{"id":"one","state":"submitted","submitted":"2026-01-01T00:00:00Z"}',
        b'{"id":"one","state":"submitted","request":{},"submitted":"today"}',
        b'{"id":"one","state":"completed","request":{},"submitted":"2026-01-01T00:00:00Z"}',
        b'{"id":"two","state":"submitted","request":{},"submitted":"2026-01-01T00:00:00Z"}',
    ],
)
async def test_a_damaged_task_is_refused_by_its_file(directory: Path, body: bytes) -> None:
    store = FileTasks(directory)
    (directory / "one.json").write_bytes(body)
    with pytest.raises(CorruptError, match=r"one\.json holds"):
        await store.load("one")
    with pytest.raises(CorruptError, match=r"one\.json holds"):
        await store.complete("one", task_store.result())


async def test_keys_of_a_later_release_do_not_matter(directory: Path) -> None:
    store = FileTasks(directory)
    (directory / "one.json").write_bytes(
        b'{"queue":{},"request":{"a":1},"id":"one","state":"submitted",'
        b'"submitted":"2026-01-01T00:00:00+02:00"}'
    )
    loaded = await store.load("one")
    assert (loaded.request, loaded.submitted) == (b'{"a":1}', "2026-01-01T00:00:00+02:00")


async def test_what_a_dead_process_left_half_written_is_no_task(directory: Path) -> None:
    store = FileTasks(directory)
    (directory / f"{TEMPORARY_PREFIX}00").write_bytes(b'{"id":"one","sta')
    assert (await store.submit(task_store.request())).state == "submitted"


async def test_the_first_task_makes_the_directory_and_nothing_else_does(tmp_path: Path) -> None:
    store = FileTasks(tmp_path / "tasks")
    for work in (store.load("one"), store.complete("one", task_store.result())):
        with pytest.raises(NotFoundError):
            await work
    assert os.listdir(tmp_path) == []  # noqa: PTH208
    await store.submit(task_store.request())
    assert (tmp_path / "tasks" / "one.json").is_file()


async def test_a_write_that_fails_is_an_error_of_the_store(directory: Path) -> None:
    store = FileTasks(directory)
    os.rmdir(directory)  # noqa: PTH106
    with pytest.raises(StoreError, match="cannot be written"):
        await store.submit(task_store.request())


def test_a_directory_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SetupError, match="cannot be used"):
        FileTasks(tmp_path / "file" / "tasks")


async def test_a_lock_that_is_never_let_go_is_given_up(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileTasks(directory)
    await store.submit(task_store.request())
    monkeypatch.setattr(file, "LOCK_TIMEOUT_S", 0.0)
    held = os.open(directory, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(LockedError, match="another process holds the tasks"):
        await store.complete("one", task_store.result())
    os.close(held)
    assert (await store.load("one")).state == "submitted"


async def test_a_link_to_itself_is_no_task(directory: Path) -> None:
    store = FileTasks(directory)
    (directory / "one.json").symlink_to(directory / "one.json")
    with pytest.raises(CorruptError, match="no regular file"):
        await store.load("one")
