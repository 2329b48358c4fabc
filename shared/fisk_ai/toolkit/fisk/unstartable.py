"""Why a program could not be started, in words that say what to do about it.

The system names one number for several mistakes, so the file itself is looked at.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fisk_ai.text import sanitise

INTERPRETER_LIMIT = 200
"""Code points of an interpreter line quoted in an error; the kernel reads little more."""

WINDOWS_LINES = (
    "its lines end as on Windows; store it with line ends of LF alone (dos2unix does that)"
)
"""Said of a script whose interpreter is looked for under a name with a carriage return."""


def reason(program: str, directory: Path | None, error: OSError | ValueError) -> str:
    """Return why ``program`` did not start in ``directory``; the program is not named again."""
    if isinstance(error, ValueError):
        unfit = isinstance(error, UnicodeError)
        return f"one of its words {'cannot be encoded' if unfit else 'holds a null character'}"
    if directory is not None and not directory.is_dir():
        return f"the directory {directory} to run it in is not there"
    path = Path(program)
    match error.errno:
        case errno.ENOENT:
            return _missing(path)
        case errno.EACCES:
            return _forbidden(path)
        case errno.ENOEXEC:
            return (
                "it is neither a binary for this machine nor a script that names its interpreter; "
                "begin a script with a line such as #!/usr/bin/env python3"
            )
        case _:
            return (error.strerror or str(error)).lower()


def _missing(path: Path) -> str:
    if not path.exists():
        return "there is no such file"
    line = _first_line(path)
    if not line.startswith(b"#!"):
        return "it was built for a system whose loader is not there"
    if line.endswith(b"\r\n"):
        return WINDOWS_LINES
    named = sanitise.for_terminal(line[2:].decode(errors="replace"), INTERPRETER_LIMIT)
    return f'its first line names the interpreter "{named}", which is not there'


def names_interpreter_with_return(path: Path) -> bool:
    """Say whether its interpreter is looked for under a name that ends with a carriage return."""
    try:
        line = _first_line(path)
    except OSError:
        return False
    return line.startswith(b"#!") and line.endswith(b"\r\n")


def _first_line(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(4 * (INTERPRETER_LIMIT + 1))


def _forbidden(path: Path) -> str:
    if path.is_dir():
        return "it is a directory, not a program"
    if path.exists() and not os.access(path, os.X_OK):
        return "it is not executable; allow that with chmod +x"
    return "permission denied; look at the directories above it and how they are mounted"
