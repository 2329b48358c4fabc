"""Who may write a session file: whoever holds the lock on the file beside it.

The lock belongs to an open file, not to a process, so a second run of one session inside the same
process is refused as well. It vanishes with its holder, however that ends. Rules:
``docs/reference/sessions.md``.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from fisk_ai.errors import CorruptError
from fisk_ai.filestore import lock_at_once
from fisk_ai.sessions.regular import open_regular

FILE_MODE = 0o600
"""Journals hold conversations and conversation tokens: theirs alone who run the agent."""

_ATTEMPTS = 10
"""Tries against a file that deletes keep replacing; more than that is contention, not a race."""

_SIGNATURE = re.compile(rb"pid ([0-9]{1,10})\n")
_SIGNATURE_BYTES = 16


class Lock:
    """A held lock."""

    __slots__ = ("_fd", "_path")

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    def release(self, *, remove: bool = False) -> None:
        """Let go; ``remove`` takes the lock file away first, while nobody else can hold it."""
        try:
            if remove:
                self._path.unlink(missing_ok=True)
        finally:
            with suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)


def acquire(path: Path) -> Lock | None:
    """Take the lock at once, or return ``None`` when somebody holds it.

    Raises:
        CorruptError: what is at ``path`` cannot be a lock file.
        OSError: it cannot be opened or locked.
    """
    for _ in range(_ATTEMPTS):
        fd = open_regular(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            is_held = lock_at_once(fd)
            is_current = is_held and _is_at(path, fd)
        except OSError:
            os.close(fd)
            raise
        if is_current:
            _sign(fd)
            return Lock(path, fd)
        os.close(fd)
        if not is_held:
            return None
    return None


def is_held(path: Path) -> bool:
    """Say whether somebody holds the lock; nothing is kept and nothing is made.

    A lock that nobody signed is taken for free without a try: even a short look would keep it from
    a run that begins at this moment.

    Raises:
        CorruptError: what is at ``path`` cannot be a lock file.
        OSError: it cannot be looked at.
    """
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return os.fstat(fd).st_size > 0 and not lock_at_once(fd, shared=True)
    finally:
        os.close(fd)


def holder(path: Path) -> str:
    """Name the process that took the lock last, such as ``pid 7``; empty when none signed it."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except (OSError, CorruptError):
        return ""
    with os.fdopen(fd, "rb") as file:
        found = _SIGNATURE.fullmatch(file.read(_SIGNATURE_BYTES))
    return f"pid {int(found[1])}" if found else ""


def _sign(fd: int) -> None:
    """Say in the lock file who holds it; for people alone, so a full disk is no failure."""
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"pid {os.getpid()}\n".encode(), 0)


def _is_at(path: Path, fd: int) -> bool:
    """Say whether a delete left ``path`` alone between opening and locking it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False
