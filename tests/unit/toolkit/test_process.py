"""Running programs: what is kept of them, how they end, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop

from fisk_ai.errors import ToolError
from fisk_ai.toolkit.fisk.process import run
from fisk_ai.toolkit.fisk.starting import Exit, kill_group

Program = Callable[..., Path]
Gone = Callable[[int], Awaitable[None]]
Written = Callable[[Path], Awaitable[str]]


async def collect(
    path: Path, *words: str, linger_s: float = 10.0, directory: Path | None = None
) -> tuple[Exit, bytes]:
    kept = bytearray()
    ended = await run(
        [str(path), *words],
        environ=os.environ,
        directory=directory,
        sink=kept.extend,
        linger_s=linger_s,
    )
    return ended, bytes(kept)


async def test_both_streams_arrive_in_the_order_they_were_written(program: Program) -> None:
    path = program("for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    ended, output = await collect(path)
    assert output == b"out1\nerr1\nout2\nerr2\nout3\nerr3\n"
    assert ended == Exit(code=0, drained=True)


async def test_no_shell_reads_the_words(program: Program) -> None:
    path = program('printf "<%s>" "$@"')
    _, output = await collect(path, "$(id)", "a b", ";", "*", "")
    assert output == b"<$(id)><a b><;><*><>"


@pytest.mark.parametrize(("ending", "code"), [("exit 7", 7), ("kill -TERM $$", -1)])
async def test_any_status_is_an_answer_and_a_signal_is_minus_one(
    program: Program, ending: str, code: int
) -> None:
    ended, output = await collect(program(f"echo said; {ending}"))
    assert (ended.code, output) == (code, b"said\n")


async def test_a_program_runs_in_the_directory_given(program: Program, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    _, output = await collect(program("pwd"), directory=tmp_path / "work")
    assert output.decode().strip() == str(tmp_path / "work")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("a\0b", "one of its words holds a null character"),
        ("\ud800", "one of its words cannot be encoded"),
        ("x" * 3_000_000, "argument list too long"),
    ],
)
async def test_a_word_that_cannot_be_passed_is_a_failure_to_start(
    program: Program, word: str, why: str
) -> None:
    with pytest.raises(ToolError, match=f"cannot start .*: {why}"):
        await collect(program("true"), word)


async def test_a_missing_program_and_a_missing_directory_are_failures_to_start(
    program: Program, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="cannot start"):
        await collect(tmp_path / "absent")
    with pytest.raises(ToolError, match=r"the directory .*absent to run it in is not there"):
        await collect(program("true"), directory=tmp_path / "absent")


async def test_cancelling_kills_the_program_and_what_it_started(
    program: Program, tmp_path: Path, written: Written, gone: Gone
) -> None:
    path = program(f"sleep 60 & echo $$ $! > {tmp_path}/pids; wait")
    task = asyncio.ensure_future(collect(path))
    pids = (await written(tmp_path / "pids")).split()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in pids:
        await gone(int(pid))


async def test_a_cancelled_task_starts_nothing(program: Program, tmp_path: Path) -> None:
    path = program(f"touch {tmp_path}/ran")
    task = asyncio.ensure_future(collect(path))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("ending", ["wait", "exit 0"])
async def test_a_cancel_waits_for_no_pipe_whoever_holds_it(
    program: Program, tmp_path: Path, written: Written, gone: Gone, ending: str
) -> None:
    path = program(f"setsid sleep 60 & echo $$ $! > {tmp_path}/pids; {ending}")
    task = asyncio.ensure_future(collect(path, linger_s=60))
    leader, holder = map(int, (await written(tmp_path / "pids")).split())
    try:
        if ending != "wait":
            await gone(leader)
        task.cancel()
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await task
    finally:
        kill_group(holder)


@pytest.mark.parametrize("status", [0, 4])
async def test_a_grandchild_that_holds_the_pipe_is_killed_after_the_linger(
    program: Program, tmp_path: Path, gone: Gone, status: int
) -> None:
    path = program(f"sleep 60 & echo $! > {tmp_path}/pid; echo said; exit {status}")
    ended, output = await collect(path, linger_s=0.2)
    assert ended == Exit(code=status, drained=False)
    assert output == b"said\n"
    await gone(int((tmp_path / "pid").read_text()))


def test_a_group_that_is_gone_is_killed_without_a_word() -> None:
    nobody = 99_999_999  # beyond every process id there is
    with pytest.raises(ProcessLookupError):
        os.killpg(nobody, 0)
    kill_group(nobody)


async def test_the_output_of_ten_megabytes_never_stands_in_memory(program: Program) -> None:
    largest = total = 0

    def count(data: bytes) -> None:
        nonlocal largest, total
        largest, total = max(largest, len(data)), total + len(data)

    path = program("head -c 10000000 /dev/zero")
    ended = await run([str(path)], environ=os.environ, directory=None, sink=count)
    assert ended.code == 0
    assert total == 10_000_000
    assert largest <= 65_536


def test_programs_run_under_uvloop_too(program: Program) -> None:
    path = program("echo said; exit 3")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        ended, output = runner.run(collect(path))
    assert (ended.code, output) == (3, b"said\n")


async def test_many_programs_run_at_once(program: Program) -> None:
    path = program('echo "$1"')
    results = await asyncio.gather(*(collect(path, str(number)) for number in range(20)))
    assert [output for _, output in results] == [f"{number}\n".encode() for number in range(20)]


async def test_where_the_kernel_gives_no_descriptor_for_a_process_a_thread_waits(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    ended, output = await collect(program("echo said; exit 2"))
    assert (ended.code, output) == (2, b"said\n")


_IN_ASCII = """
import asyncio, sys
from fisk_ai.toolkit.fisk.process import run

kept = bytearray()
words = ["/bin/echo", "\\u00fc\\U0001f600", "\\udcff"]
asyncio.run(run(words, environ={}, directory=None, sink=kept.extend))
sys.stdout.buffer.write(kept)
"""


def test_words_are_passed_as_utf_8_whatever_the_locale() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IN_ASCII],
        env=os.environ | {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == "\u00fc\U0001f600 ".encode() + b"\xff\n"


def descriptors() -> list[Path]:
    return sorted(Path("/proc/self/fd").iterdir())


async def test_no_descriptor_is_left_behind(program: Program) -> None:
    path = program("true")
    await collect(path)
    before = descriptors()
    for _ in range(5):
        await collect(path)
        with pytest.raises(ToolError):
            await collect(path, "\0")
    assert descriptors() == before
