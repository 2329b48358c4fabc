"""What a process of ours keeps from the other processes of its user.

The environment with which a program was started, its memory and its descriptors are files under
``/proc`` that every process of the same user may read, commands run as tools among them. So secrets
reach a child in a file that has no name and is empty once it was read, and a process that holds
secrets closes those files of its own, which root alone may read all the same. Rules:
``docs/reference/tools.md``.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import sys
from contextlib import suppress
from typing import IO, Final

_PR_SET_DUMPABLE: Final = 4

if sys.platform == "linux":
    _SEALS: Final = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    """What together leaves a file as it is for good."""


def shield() -> None:
    """Close this process to others of its user: environment, memory, descriptors, debuggers.

    On Linux alone; elsewhere nothing happens. It leaves no core dump from then on, and neither does
    a process forked from it; a program that it starts is open again. Signals pass as before.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def hand_over(content: bytes) -> IO[bytes]:
    """Return a file without a name that holds ``content``, for a child to inherit."""
    file = _nameless()
    file.write(content)
    file.flush()
    file.seek(0)
    return file


def take(descriptor: int) -> bytes:
    """Return what was handed over in ``descriptor``, which is empty and closed afterwards.

    Raises:
        OSError: there is no such file.
    """
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        content = file.read()
        forget(file)
        return content


def forget(file: IO[bytes]) -> None:
    """Empty a file that was handed over, for everybody who holds it, and where possible for good.

    A child that would read it again, told by a signal, say, must not read what another one wrote.
    """
    file.truncate(0)
    if sys.platform == "linux":
        with suppress(OSError):  # not one of hand_over
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)


def _nameless() -> IO[bytes]:
    if sys.platform == "linux":  # never on a disk
        sealable = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        return os.fdopen(os.memfd_create("fisk-ai", sealable), "w+b")
    import tempfile  # noqa: PLC0415 - not on Linux

    return tempfile.TemporaryFile()
