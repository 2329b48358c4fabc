"""Opening the file of a session; anything but a regular file holds none."""

from __future__ import annotations

import os
from pathlib import Path

from fisk_ai import regular
from fisk_ai.errors import CorruptError


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open ``path`` without waiting and return the descriptor.

    Raises:
        CorruptError: something else than a regular file is there.
        OSError: as ``os.open``.
    """
    refusal = CorruptError(f"{path} is no regular file, so it holds no session; remove it")
    return regular.open_regular(path, flags, mode, refusal=refusal)


def read_regular(path: Path) -> bytes:
    """Return everything in the regular file ``path``; raises as :func:`open_regular`."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()
