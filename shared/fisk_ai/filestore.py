"""What stores of files share: a file is whole or not there, and a lock is free or not.

A file is written under a name of its own in the same directory, synced, and only then given the
name it is read by; the directory is synced behind it. So a reader never sees half of one, and what
a dead process left has a name that no store reads. A directory is made with the first file in it:
whoever is refused before that leaves no trace.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

DIRECTORY_MODE: Final = 0o700
"""What is kept are conversations: theirs alone who run the agent."""


class StoreDirectory:
    """The directory of a store: tried when the store is opened, made with its first file.

    One that was there and vanished is not made anew, or what it held would seem never written.
    """

    __slots__ = ("_path", "was_there")

    def __init__(self, path: Path) -> None:
        """Find out whether files can be kept at ``path``; nothing is made that has a name.

        Raises:
            OSError: it cannot be read and written, or could not be made.
        """
        self._path = path
        found = _nearest(path)
        self.was_there = found == path
        if self.was_there:
            os.scandir(path).close()
        # Permission bits do not say it all: of /proc they promise what no mkdir can keep.
        with tempfile.TemporaryFile(dir=found):
            pass

    def make(self) -> None:
        """Make it, and what is missing above it, unless it was there before; raises OSError."""
        if not self.was_there:
            self._path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            self.was_there = True


def _nearest(path: Path) -> Path:
    """Return ``path``, or the first above it that is there; raises OSError."""
    for place in (path, *path.absolute().parents):
        with suppress(FileNotFoundError):
            place.lstat()
            return place
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


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
