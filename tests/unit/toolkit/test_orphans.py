"""A killed worker leaves no command running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from fisk_ai.toolkit.fisk.orphans import OrphanWatch

Gone = Callable[[int], Awaitable[None]]
Written = Callable[[Path], Awaitable[str]]
Start = Callable[..., subprocess.Popen[bytes]]

NOBODY = 99_999_999  # beyond every process id there is

WORKER = """
import asyncio, os, sys
from pathlib import Path
from fisk_ai.toolkit.fisk.process import run

report, program = Path(sys.argv[1]), sys.argv[2]
asyncio.run(run([program], environ=os.environ, directory=None, sink=report.write_bytes))
"""


@pytest.fixture
def watch() -> Iterator[OrphanWatch]:
    watch = OrphanWatch()
    yield watch
    watch.close()


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a process in a group of its own; whatever still runs is ended after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def process(*words: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(words, start_new_session=True))
        return started[-1]

    yield process
    for each in started:
        each.kill()
        each.wait()


async def test_a_killed_worker_takes_its_command_and_grandchildren_with_it(
    program: Callable[..., Path], start: Start, tmp_path: Path, written: Written, gone: Gone
) -> None:
    path = program("sleep 60 & echo $$ $!; wait")
    worker = start(sys.executable, "-c", WORKER, str(tmp_path / "pids"), str(path))
    pids = (await written(tmp_path / "pids")).split()
    for pid in pids:
        os.kill(int(pid), 0)  # raises when it is gone before its time
    worker.send_signal(signal.SIGKILL)
    for pid in pids:
        await gone(int(pid))
    assert (len(pids), worker.wait(5)) == (2, -signal.SIGKILL)


def test_the_end_of_the_watch_kills_only_what_is_still_watched(
    watch: OrphanWatch, start: Start
) -> None:
    freed, watched = start("sleep", "60"), start("sleep", "60")
    for group in (watched.pid, freed.pid):
        watch.add(group)
    watch.remove(freed.pid)
    watch.close()
    assert watched.wait(5) == -signal.SIGKILL
    assert freed.poll() is None


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_watcher_that_died_or_hangs_is_replaced_and_knows_what_lives(
    watch: OrphanWatch, start: Start, blow: signal.Signals
) -> None:
    watched = start("sleep", "60")
    watch.add(watched.pid)
    first = watch.watcher_id
    assert first is not None
    os.kill(first, blow)
    for _ in range(10_000):
        watch.add(NOBODY)
        watch.remove(NOBODY)
        if watch.watcher_id != first:
            break
    assert watch.watcher_id != first
    watch.close()
    assert watched.wait(5) == -signal.SIGKILL


def test_without_a_shell_commands_run_unwatched(
    watch: OrphanWatch, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fisk_ai.toolkit.fisk.orphans._SHELL", "/absent/sh")
    group = start("sleep", "60").pid
    watch.add(group)
    watch.remove(group)
    assert watch.watcher_id is None
