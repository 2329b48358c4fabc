"""Running one program beside us and reading it in the end, without an event loop.

Whoever starts it does something else meanwhile, and then reads it to its end in a thread that may
wait. Nothing of it is left behind, as with :mod:`~fisk_ai.toolkit.fisk.process`.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from fisk_ai.toolkit.fisk import starting
from fisk_ai.toolkit.fisk.orphans import WATCH
from fisk_ai.toolkit.fisk.starting import Exit, kill_group

LOOK_MS = 100
"""How often somebody who reads looks at the time, and whether the program has ended."""


class Asked:
    """A program that works from now on, to be closed; both outputs go to whoever reads."""

    def __init__(
        self, words: Sequence[str], *, environ: Mapping[str, str], directory: Path | None
    ) -> None:
        """Start ``words[0]`` with the other words as its arguments.

        Raises:
            ToolError: it cannot be started; says why and what to do.
        """
        WATCH.prepare()
        self._process, self._pipe = starting.start(words, environ=environ, directory=directory)
        self._group = self._process.pid
        WATCH.add(self._group)
        self._started = time.monotonic()
        self._reading = Lock()
        self._closed = False

    def read(self, sink: Callable[[bytes], None], *, timeout_s: float) -> Exit:
        """Give its output to ``sink`` until it ends; ``timeout_s`` counts from its start.

        A pipe that a grandchild holds for longer than :data:`~starting.LINGER_S` is waited for no
        longer, and the group killed.

        Raises:
            TimeoutError: it did not end in time.
        """
        deadline = self._started + timeout_s
        with self._reading:
            drained = self._drain(sink, deadline)
            if not drained:
                kill_group(self._group)  # the program is not reaped yet, so the number is its own
            patience_s = max(0.0, deadline - time.monotonic()) if drained else starting.KILL_S
            try:
                code = self._process.wait(patience_s)
            except subprocess.TimeoutExpired as exc:
                raise TimeoutError from exc
        return Exit(code=max(code, -1), drained=drained)

    def close(self) -> None:
        """Kill its group where it still runs, wait until it is gone, or the time is, and let go.

        A thread that reads meanwhile is through with it first.
        """
        self._closed = True
        if self._process.returncode is None:
            kill_group(self._group)
        with self._reading:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(starting.KILL_S)
            os.close(self._pipe)
        WATCH.remove(self._group)

    def _drain(self, sink: Callable[[bytes], None], deadline: float) -> bool:
        """Empty the pipe and say whether it came to its end."""
        pipe = select.poll()
        pipe.register(self._pipe, select.POLLIN)
        ended = False
        while not self._closed:
            if pipe.poll(LOOK_MS):
                data = os.read(self._pipe, starting.READ_BYTES)
                if not data:
                    return True
                sink(data)
            now = time.monotonic()
            if not ended and self._has_ended():
                ended, deadline = True, now + starting.LINGER_S
            if now >= deadline:
                if not ended:
                    raise TimeoutError
                break
        return False

    def _has_ended(self) -> bool:
        """Say whether the program itself did; its number stays its own, and that of its group."""
        if sys.platform == "linux":
            state = os.waitid(os.P_PID, self._group, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return state is not None
        return self._process.poll() is not None
