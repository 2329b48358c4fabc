"""Opening the file of a session or of its lock; anything but a regular file is neither."""

from __future__ import annotations

import os
from pathlib import Path

from fisk_ai import regular
from fisk_ai.errors import CorruptError

LOCK_SUFFIX = ".lock"
"""How the name of a session's lock ends."""


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open ``path`` without waiting and return the descriptor.

    Raises:
        CorruptError: something else than a regular file is there.
        OSError: as ``os.open``.
    """
    use = "can be no lock" if path.suffix == LOCK_SUFFIX else "holds no session"
    refusal = CorruptError(f"{path} is no regular file, so it {use}; remove it")
    return regular.open_regular(path, flags, mode, refusal=refusal)


def read_regular(path: Path) -> bytes:
    """Return everything in the regular file ``path``; raises as :func:`open_regular`."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()
