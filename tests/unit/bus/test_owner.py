"""A child notices that its owner is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress

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


@contextmanager
def _family(
    *, program: str = "exec sleep 60", number: str = "SIGTERM"
) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Run a parent, and yield it with a descriptor of its child; both are gone after the block."""
    code = PARENT.format(parent="os.getpid()", program=program, number=number)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        try:
            assert parent.stdout is not None
            child = os.pidfd_open(int(parent.stdout.readline()))
        except BaseException:
            parent.kill()
            raise
        try:
            yield parent, child
        finally:
            parent.kill()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            os.close(child)


def _is_gone(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 10)[0])


def test_a_child_ends_when_its_parent_is_killed() -> None:
    with _family() as (parent, child):
        parent.communicate(b"x", timeout=10)

        assert parent.returncode == -signal.SIGKILL
        assert _is_gone(child)


def test_a_child_that_is_deaf_to_the_asking_signal_ends_when_it_is_to_be_killed() -> None:
    deaf = "trap '' TERM; exec sleep 60"
    with _family(program=deaf, number="SIGKILL") as (parent, child):
        parent.communicate(b"x", timeout=10)

        assert _is_gone(child)


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
