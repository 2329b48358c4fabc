"""``--a2a-debug``: every message of the conversation in a file that only its owner can read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from fisk_ai.errors import SetupError
from fisk_ai.text.clock import rfc3339_now

FILE = "a2a-debug.log"
"""Fixed name in the working directory, so that everybody knows what to delete afterwards."""

Dump = Callable[[str, str, bytes], None]


def open_dump(directory: Path) -> tuple[Dump, Callable[[], None]]:
    """Start a new dump and return what writes one message, and what closes the file.

    An existing file is replaced, not opened: a link planted under its name is dropped and never
    followed. A failing write never fails the run: it is told once, and ends the dump, for a file
    with a hole would mislead its reader.

    Raises:
        SetupError: the file cannot be created.
    """
    path = directory / FILE
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except OSError as exc:
        raise SetupError(f"{FILE} cannot be created: {exc.strerror}", key="--a2a-debug") from exc
    dump = _WireDump(path, descriptor)
    return dump.write, dump.close


class _WireDump:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._is_over = False

    def write(self, direction: str, subject: str, body: bytes) -> None:
        if self._is_over:
            return
        left = memoryview(f"{rfc3339_now()} {direction} {subject} ".encode() + body + b"\n")
        try:
            while left:  # a disk that fills up takes a part first
                left = left[os.write(self._descriptor, left) :]
        except OSError as exc:
            self._is_over = True
            print(
                f"warning: {FILE} is incomplete, because a message could not be written: "
                f"{exc.strerror}",
                file=sys.stderr,
            )

    def close(self) -> None:
        """Let go of the file; one that nothing was said in is taken away again."""
        self._is_over = True
        if os.fstat(self._descriptor).st_size == 0:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
