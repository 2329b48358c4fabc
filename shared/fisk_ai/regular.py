"""Opening what has to be a regular file: nothing else is waited on, read or written.

A pipe under the name of a session, a task, a memory or a configuration would hold up whoever opens
it, and a device would never end. In a store of ours a link would lead elsewhere, so none is
followed there; a name that a person gave is followed, for configuration is often mounted as links.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from fisk_ai.errors import FiskError

_ELSEWHERE = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""What a system says of a link that is not followed, a socket, and a directory to be written."""

_CIRCLE = "it is a link that leads back to itself; name the file, or mend the links"


def open_regular(
    path: Path, flags: int, mode: int = 0o600, *, refusal: FiskError, follow: bool = False
) -> int:
    """Open ``path`` without waiting and return the descriptor; ``follow`` says of a link whether.

    Raises:
        FiskError: ``refusal``, when something else than a regular file is there.
        OSError: as ``os.open``.
        ValueError: the path holds a character that no name has.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags, mode)
    except OSError as exc:
        if follow and exc.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, _CIRCLE, str(path)) from exc
        if exc.errno in _ELSEWHERE:
            raise refusal from exc
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise refusal
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_named(path: Path, limit_bytes: int, *, refusal: FiskError) -> bytes:
    """Return what stands in the regular file that somebody named; a link is followed.

    At most one byte more than ``limit_bytes`` is read, which tells the caller that it is too long.

    Raises:
        FiskError: ``refusal``, for a pipe, a socket or a device.
        OSError: it cannot be opened or read, a directory included.
        ValueError: the path holds a character that no name has.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    fd = open_regular(path, os.O_RDONLY, refusal=refusal, follow=True)
    try:
        return _read(fd, limit_bytes + 1)
    finally:
        os.close(fd)


def _read(fd: int, most: int) -> bytes:
    """Read without a buffer: what says that it has nothing now, as files of a kernel can, fails."""
    parts: list[bytes] = []
    while most > 0 and (part := os.read(fd, most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
