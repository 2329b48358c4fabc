"""Opening a file below a directory, and never one beside it, whoever changes what meanwhile.

The path is walked one name at a time from an open directory, and no step follows a link on its
own. A link counts as the names it holds, if it is relative, and ``..`` goes back to a directory
that was walked through, so the walk cannot leave the one it began in.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from pathlib import Path

LINK_LIMIT = 40
"""Links followed on one path, as many as the system itself follows."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe put in its place must not hold us


class OutsideError(ValueError):
    """The path is absolute, or it or a link on it leads out of the directory."""


class NotAFileError(ValueError):
    """What the path names is no regular file."""


def open_below(root: Path, path: str) -> int:
    """Return a descriptor of the regular file at ``path``, which the caller closes.

    Raises:
        OutsideError: it leads out of ``root``.
        NotAFileError: it names no regular file.
        OSError: it is not there, or may not be read.
    """
    walk = _Walk(os.open(root, _DIRECTORY))
    try:
        return walk.open(path)
    finally:
        walk.close()


class _Walk:
    """The directories from the root to where the walk stands, all open."""

    def __init__(self, root: int) -> None:
        self._open = [root]
        self._links = 0
        self._names: deque[str] = deque()

    def open(self, path: str) -> int:
        if path.startswith("/"):
            raise OutsideError("it is absolute")
        self._push(path)
        while self._names:
            name = self._names.popleft()
            if name == "..":
                self._leave()
            elif not self._names:
                found = self._last(name)
                if found is not None:
                    return found
            else:
                self._enter(name)
        raise NotAFileError("it names a directory")

    def close(self) -> None:
        for descriptor in self._open:
            os.close(descriptor)

    def _push(self, path: str) -> None:
        names = [name for name in path.split("/") if name not in ("", ".")]
        self._names.extendleft(reversed(names))

    def _leave(self) -> None:
        if len(self._open) == 1:
            raise OutsideError("it leads out of the directory")
        os.close(self._open.pop())

    def _enter(self, name: str) -> None:
        if not self._follow(name):
            self._open.append(os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=self._open[-1]))

    def _last(self, name: str) -> int | None:
        """Open the file ``name``; ``None`` when it is a link whose names are walked next."""
        if self._follow(name):
            return None
        self._require_regular(os.stat(name, dir_fd=self._open[-1], follow_symlinks=False))
        descriptor = os.open(name, _FILE | os.O_NOFOLLOW, dir_fd=self._open[-1])
        try:
            self._require_regular(os.fstat(descriptor))
        except NotAFileError:
            os.close(descriptor)
            raise
        return descriptor

    def _follow(self, name: str) -> bool:
        here = self._open[-1]
        if not stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            return False
        self._links += 1
        if self._links > LINK_LIMIT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(name, dir_fd=here)
        if target.startswith("/"):
            raise OutsideError("a link on it is absolute, and so leads out of the directory")
        self._push(target)
        return True

    @staticmethod
    def _require_regular(status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise NotAFileError("it is no regular file")
