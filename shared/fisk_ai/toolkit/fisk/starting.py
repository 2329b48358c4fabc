"""Starting one program: its own group, one pipe, and nothing else inherited.

Both output streams share the pipe, so their order is kept. Standard input is the null device and
no other descriptor of ours is inherited. A program is started with ``vfork``: no copy of this
process per call, which halts until the child has become its program. Who reads the pipe is left
open: the event loop (:mod:`~fisk_ai.toolkit.fisk.process`) or the thread that waits for the end
(:mod:`~fisk_ai.toolkit.fisk.asking`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.errors import ToolError
from fisk_ai.toolkit.fisk import unstartable

LINGER_S = 10.0
"""How long a pipe may stay open once its program ended: a grandchild holds it."""

KILL_S = 1.0
"""How long the end of a killed program is awaited; only one that is stuck in the kernel takes it.
Nobody reads what it printed, so nobody waits for its pipe."""

READ_BYTES = 65_536
"""Bytes taken from the pipe at once; the size of a pipe on Linux."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a program ended: -1 for a signal, and whether its pipe came to an end in time."""

    code: int
    drained: bool


def start(
    words: Sequence[str], *, environ: Mapping[str, str], directory: Path | None
) -> tuple[subprocess.Popen[bytes], int]:
    """Start ``words[0]``; return the process and the reading end of its pipe, to be closed.

    Raises:
        ToolError: it cannot be started; says why and what to do.
    """
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(
            [_bytes(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            env=dict(environ),
            cwd=directory,
            start_new_session=True,
        )
    except (OSError, ValueError) as exc:  # ValueError: a NUL, or a word that cannot be encoded
        os.close(read_end)
        why = unstartable.reason(words[0], directory, exc)
        raise ToolError(f"cannot start {words[0]}: {why}") from exc
    finally:
        os.close(write_end)
    return process, read_end


def kill_group(group: int) -> None:
    """Kill a whole group; one that is gone is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _bytes(word: str) -> bytes:
    """Return a word as UTF-8 whatever the locale says; names of files keep bytes that are none."""
    return word.encode("utf-8", "surrogateescape")
