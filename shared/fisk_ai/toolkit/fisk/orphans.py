"""No command outlives a killed worker: a watcher that ends the groups the worker left behind.

The kernel can signal a child when its parent dies, but only that child, and asking for it costs a
full copy of the worker's page tables at each call. A shell of under a megabyte does better: it
reads on a pipe which groups are alive, and when the pipe ends, because the worker is gone however
it went, kills those that are. It runs in its own session, so no terminal or group signal reaches
it, and needs nothing but ``/bin/sh``. One moment stays open, between the start of a command and
the word about it: some microseconds in which nothing but the death of this process could intervene.
"""

from __future__ import annotations

import atexit
import os
import subprocess
from contextlib import suppress
from threading import Lock

CLOSE_S = 1.0
"""How long the end of this process waits for its watcher, which has nothing left to do."""

_SHELL = "/bin/sh"

_PROGRAM = """\
live=' '
while read -r change group; do
  case $change in
    +) live="$live$group " ;;
    -) live="${live%% $group *} ${live#* $group }" ;;
  esac
done
for group in $live; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class OrphanWatch:
    """Tells the watcher of this process which groups live.

    A watcher that is gone or stuck is replaced. Where it cannot be started, commands run without
    it: then a killed worker leaves its command to itself.
    """

    def __init__(self) -> None:
        self._live: set[int] = set()
        self._watcher: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._lock = Lock()

    @property
    def watcher_id(self) -> int | None:
        """Return the watcher's process id, ``None`` while there is no watcher."""
        return None if self._watcher is None else self._watcher.pid

    def prepare(self) -> None:
        """Have a watcher before there is anything to watch: starting one takes a while."""
        with self._lock:
            if self._pipe < 0:
                self._replace()

    def add(self, group: int) -> None:
        """Watch a group from now on."""
        with self._lock:
            self._live.add(group)
            if not self._tell("+", group):
                self._replace()

    def remove(self, group: int) -> None:
        """Let a group be: its command ended."""
        with self._lock:
            self._live.discard(group)
            if not self._tell("-", group):
                self._replace()

    def close(self) -> None:
        """End the watcher, and with it every group still watched."""
        with self._lock:
            self._live.clear()
            watcher, self._watcher = self._watcher, None
            self._drop()
        if watcher is not None:
            with suppress(subprocess.TimeoutExpired):
                watcher.wait(CLOSE_S)

    def _tell(self, change: str, group: int) -> bool:
        if self._pipe < 0:
            return False
        try:
            os.write(self._pipe, f"{change} {group}\n".encode())
        except OSError:  # gone, or stopped with a full pipe
            return False
        return True

    def _replace(self) -> None:
        self._drop()
        read_end, write_end = os.pipe()
        try:
            self._watcher = subprocess.Popen(
                [_SHELL, "-c", _PROGRAM],
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError:
            os.close(write_end)
            return
        finally:
            os.close(read_end)
        os.set_blocking(write_end, False)
        self._pipe = write_end
        for group in self._live:
            self._tell("+", group)

    def _drop(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.wait()
        self._pipe, self._watcher = -1, None


WATCH = OrphanWatch()
"""The one of this process: groups are the operating system's, not an object's."""

atexit.register(WATCH.close)
