"""What stores of files share: a file is whole or not there, and a lock is free or not.

A file is written under a name of its own in the same directory, synced, and only then given the
name it is read by; the directory is synced behind it. So a reader never sees half of one, and what
a dead process left has a name that no store reads.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def create(path: Path, body: bytes, *, prefix: str) -> None:
    """Write a new file durably; of several that create it at once one succeeds.

    ``prefix`` begins the name of the file until it has its own. Files belong to their user alone.

    Raises:
        FileExistsError: the name is taken; nothing was changed.
        OSError: it could not be written.
    """
    with _written(path.parent, body, prefix) as temporary:
        os.link(temporary, path)
    sync_directory(path.parent)


def replace(path: Path, body: bytes, *, prefix: str) -> None:
    """Write a file durably over what is there, or as a new one; as :func:`create` otherwise."""
    with _written(path.parent, body, prefix) as temporary:
        temporary.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the new and removed names of a directory durable; raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock_at_once(fd: int, *, shared: bool = False) -> bool:
    """Lock the open file, until it is closed, unless somebody else holds it; raises OSError.

    A ``shared`` lock is kept off by a whole one alone.
    """
    if sys.platform == "win32":
        return True  # no such lock there: two writers are not kept apart
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _written(directory: Path, body: bytes, prefix: str) -> Generator[Path]:
    """Give a synced file of ``directory`` that holds ``body``, and remove it afterwards."""
    fd, name = tempfile.mkstemp(prefix=prefix, dir=directory)
    temporary = Path(name)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(fd)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
