"""``--a2a-debug``: every message of the conversation in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import os
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
    followed. A failing write never fails the run.

    Raises:
        SetupError: the file cannot be created.
    """
    path = directory / FILE
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except OSError as exc:
        raise SetupError(f"{FILE} cannot be created: {exc.strerror}", key="--a2a-debug") from exc

    def write(direction: str, subject: str, body: bytes) -> None:
        line = f"{rfc3339_now()} {direction} {subject} ".encode() + body + b"\n"
        with contextlib.suppress(OSError):
            os.write(descriptor, line)

    def close() -> None:
        os.close(descriptor)

    return write, close
