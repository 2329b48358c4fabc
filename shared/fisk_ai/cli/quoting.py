"""Commands that are shown to be typed: whatever a path holds, a shell reads it back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def command_line(words: Iterable[str]) -> str:
    """Return ``words`` as a line for a shell, with nothing in it that a terminal acts on."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable() or not word:  # a byte that is no UTF-8 is a surrogate, and is not
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, os.fsencode(word))) + "'"


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character.isalnum() and character.isascii():
        return character
    return character if character in "/._- " else f"\\x{byte:02x}"
