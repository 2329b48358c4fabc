"""A child notices that its owner is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys

import pytest

from fisk_ai.bus.owner import wait_owner_gone

PARENT = """
import os, signal, subprocess, sys
from functools import partial
from fisk_ai.bus.owner import die_with_parent

child = subprocess.Popen(
    ["sh", "-c", {program!r}], stdout=subprocess.DEVNULL,
    preexec_fn=partial(die_with_parent, {parent}, signal.{number}),
)
print(child.pid, flush=True)
sys.stdin.read(1)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _start(
    parent: str, *, program: str = "exec sleep 60", number: str = "SIGTERM"
) -> tuple[subprocess.Popen[bytes], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(parent=parent, program=program, number=number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def _await_gone(descriptor: int) -> bool:
    gone, _, _ = select.select([descriptor], [], [], 10)
    os.close(descriptor)
    return bool(gone)


def test_a_child_ends_when_its_parent_is_killed() -> None:
    parent, child = _start("os.getpid()")
    watched = os.pidfd_open(child)

    with parent:
        parent.communicate(b"x", timeout=10)

    assert parent.returncode == -signal.SIGKILL
    assert _await_gone(watched)


def test_a_child_that_is_deaf_to_the_asking_signal_ends_when_it_is_to_be_killed() -> None:
    deaf = "trap '' TERM; exec sleep 60"
    parent, child = _start("os.getpid()", program=deaf, number="SIGKILL")
    watched = os.pidfd_open(child)

    with parent:
        parent.communicate(b"x", timeout=10)

    assert _await_gone(watched)


def test_a_child_whose_parent_was_gone_before_it_could_ask_ends_at_once() -> None:
    program = "from fisk_ai.bus.owner import die_with_parent; die_with_parent(1); print('survived')"

    child = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, timeout=15
    )

    assert child.returncode == -signal.SIGTERM
    assert child.stdout == b""


async def test_the_end_of_an_owner_is_the_end_of_its_pipe() -> None:
    read, write = os.pipe()
    waiting = asyncio.create_task(wait_owner_gone(read))
    os.write(write, b"anything at all")
    await asyncio.sleep(0)
    assert not waiting.done()

    os.close(write)

    await asyncio.wait_for(waiting, 5)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(read)
