"""What the operating system refused, in words: no bug, and seldom a matter of one file."""

from __future__ import annotations

import errno

_REMEDIES = {
    errno.EMFILE: "; raise the limit of this process (ulimit -n)",
    errno.ENFILE: "; the machine has no more of them",
}


def in_words(exc: OSError | MemoryError) -> str:
    """Return the reason of a failure: the file, where one is known, what is wrong, what helps."""
    if isinstance(exc, MemoryError):
        return "out of memory"
    if exc.errno in _REMEDIES:  # and the file it happened to come to does not matter
        return f"{exc.strerror}{_REMEDIES[exc.errno]}"
    where = f"{exc.filename}: " if exc.filename else ""
    return f"{where}{exc.strerror or exc}"
