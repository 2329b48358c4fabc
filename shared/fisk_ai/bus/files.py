"""The files that a connection is read from: contexts, credentials, keys and certificates.

Nothing but a regular file is opened, though a link to one may lead there: a pipe would hold up the
start without end. A reason never repeats the path: where a file is expected somebody may have
written the secret itself.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from fisk_ai.errors import StoreError
from fisk_ai.regular import open_regular

LIMIT_BYTES: Final = 65_536
"""A context has a dozen short values, a credentials file two."""

_NOT_REGULAR: Final = "it is no regular file"


def read(path: Path) -> bytes:
    """Return what a file holds; more than 64 KiB is cut one byte behind that.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: ``path`` can be the path of nothing.
    """
    with os.fdopen(_open(path), "rb") as file:
        return file.read(LIMIT_BYTES + 1)


def require(path: Path) -> None:
    """Raise as :func:`read` for what could not be read; for libraries that open it themselves."""
    os.close(_open(path))


def reason(error: OSError | ValueError) -> str:
    """Return why a file could not be used, for a person and without its path."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it names no file"


def _open(path: Path) -> int:
    refusal = StoreError(_NOT_REGULAR)
    try:
        return open_regular(path, os.O_RDONLY, refusal=refusal, follow=True)
    except StoreError as exc:
        raise OSError(errno.EINVAL, _NOT_REGULAR) from exc
