"""Opening what has to be a regular file: nothing else is waited on, read or written.

A pipe under a session's name would hold up whoever opens it, a device would never end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fisk_ai.errors import CorruptError


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open ``path`` without waiting and return the descriptor.

    Raises:
        CorruptError: something else than a regular file is there.
        OSError: as ``os.open``.
    """
    fd = os.open(path, flags | os.O_NONBLOCK, mode)
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
    except OSError:
        os.close(fd)
        raise
    os.close(fd)
    raise CorruptError(f"{path} is no regular file, so it holds no session; remove it")


def read_regular(path: Path) -> bytes:
    """Return everything in the regular file ``path``; raises as :func:`open_regular`."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()
