"""Commands that are shown to be typed: whatever a path holds, a shell reads it back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path


def command_line(words: Iterable[str], *paths: tuple[str, str | None], here: bool = False) -> str:
    """Return a line for a shell, with nothing in it that a terminal acts on.

    Behind ``words`` stands each flag of ``paths`` that has a path, absolute, so that the line means
    the same in any directory. What no flag can make absolute is found from the directory the
    process is in: ``here`` says that there is such a thing, and the line goes there first.
    """
    typed = list(words)
    for flag, path in paths:
        if path:
            typed += [flag, str(_absolute(Path(path)))]
    line = " ".join(map(_quoted, typed))
    return f"cd {_quoted(str(Path.cwd()))} && {line}" if here else line


def _absolute(path: Path) -> Path:
    """Return ``path`` without steps up, which lead elsewhere behind a link than they read."""
    return path.resolve() if ".." in path.parts else path.absolute()


def _quoted(word: str) -> str:
    if word.isprintable() or not word:  # a byte that is no UTF-8 is a surrogate, and is not
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, os.fsencode(word))) + "'"


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character.isalnum() and character.isascii():
        return character
    return character if character in "/._- " else f"\\x{byte:02x}"
