"""How a child process notices that the process it works for is gone, however that one died."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys

OWNER_DIED = signal.SIGUSR1
"""How the kernel tells a worker that its owner is gone.

It ends one that is only starting. One that serves is told by the owner's pipe and ignores it: the
kernel sends it once for each thread of the owner that dies in its turn, and two SIGTERMs would be
the order to stop at once.
"""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
"""Loaded here, because nothing may be loaded between fork and exec."""


def die_with_parent(parent_pid: int = 0, number: signal.Signals = signal.SIGTERM) -> None:
    """Have the kernel end this process with ``number`` when the thread that started it ends.

    For use between fork and exec, or first thing in a child. Start such a child from the main
    thread: the signal comes when that *thread* ends. With ``parent_pid``, a parent that was gone
    before the kernel knew ends this process at once. SIGTERM is lost on a program that catches it
    before it is ready to end; SIGKILL never is. Does nothing where the kernel cannot do it.
    """
    if sys.platform != "linux":
        return
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if parent_pid and os.getppid() != parent_pid:
        os.kill(os.getpid(), number)


async def wait_owner_gone(fd: int) -> None:
    """Wait until the other end of the pipe ``fd`` is closed, as every kind of death does.

    ``fd`` belongs to this call from now on and is closed when it ends.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(fd, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while await reader.read(4096):
            continue
    finally:
        with contextlib.suppress(OSError):
            transport.close()
