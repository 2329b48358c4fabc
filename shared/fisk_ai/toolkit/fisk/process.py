"""Running one program to its end in the event loop, and leaving nothing behind.

It is awaited through descriptors: no thread per call. Its start halts this process for a moment, so
programs take turns to start.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fisk_ai.toolkit.fisk import starting
from fisk_ai.toolkit.fisk.orphans import WATCH
from fisk_ai.toolkit.fisk.starting import LINGER_S, Exit, kill_group
from fisk_ai.toolkit.fisk.turns import TURNS


async def run(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    directory: Path | None,
    sink: Callable[[bytes], None],
    linger_s: float = LINGER_S,
) -> Exit:
    """Run ``words[0]`` with the other words as its arguments and give its output to ``sink``.

    Cancelling kills the whole group at once and waits for no pipe, whoever holds it. Without it
    a pipe that a grandchild holds for longer than ``linger_s`` is closed and the group killed.

    Raises:
        ToolError: the program cannot be started; says why and what to do.
    """
    async with TURNS.take():
        WATCH.prepare()
        child = _Child(*starting.start(words, environ=environ, directory=directory), sink)
        WATCH.add(child.group)
    try:
        return await child.finish(linger_s)
    except asyncio.CancelledError:
        await child.kill()
        raise
    finally:
        child.close()
        WATCH.remove(child.group)


class _Child:
    """A started program and the reading end of its pipe, emptied in the event loop."""

    def __init__(
        self, process: subprocess.Popen[bytes], descriptor: int, sink: Callable[[bytes], None]
    ) -> None:
        self.group = process.pid
        self._process = process
        self._descriptor = descriptor
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    async def finish(self, linger_s: float) -> Exit:
        """Wait for the program, then for its pipe."""
        await self._exited()
        if not self._drained.done():
            await asyncio.wait({self._drained}, timeout=linger_s)
        drained = self._drained.done()
        if not drained:
            kill_group(self.group)
        code = self._process.wait()
        return Exit(code=max(code, -1), drained=drained)

    async def kill(self) -> None:
        """Kill the group and wait until the program is gone, or the time is."""
        kill_group(self.group)
        try:
            async with asyncio.timeout(starting.KILL_S):
                await self._exited()
        except TimeoutError:
            return

    def close(self) -> None:
        """Let go of the pipe and of a program that ended."""
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._process.poll()

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, starting.READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._sink(data)
            return
        self._loop.remove_reader(self._descriptor)
        _resolve(self._drained)

    async def _exited(self) -> None:
        """Wait for the program itself, whoever still holds its pipe."""
        if self._process.returncode is not None:
            return
        descriptor = _exit_descriptor(self.group)
        if descriptor is None:
            await asyncio.to_thread(self._process.wait)
            return
        ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(descriptor, _resolve, ended)
        try:
            await ended
        finally:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)


def _exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that becomes readable at the exit; ``None`` where there is no such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
