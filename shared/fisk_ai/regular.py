"""Opening what has to be a regular file: nothing else is waited on, read or written.

A pipe under the name of a session, a task or a memory would hold up whoever opens it, a device
would never end, and a link would lead elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from fisk_ai.errors import StoreError

_ELSEWHERE = (errno.ELOOP, errno.ENXIO)
"""What a system says of a link that is not followed, and of a socket."""


def open_regular(path: Path, flags: int, mode: int = 0o600, *, refusal: StoreError) -> int:
    """Open ``path`` without waiting and return the descriptor; a link is not followed.

    Raises:
        StoreError: ``refusal``, when something else than a regular file is there.
        OSError: as ``os.open``.
    """
    try:
        fd = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as exc:
        if exc.errno in _ELSEWHERE:
            raise refusal from exc
        raise
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
    except OSError:
        os.close(fd)
        raise
    os.close(fd)
    raise refusal
