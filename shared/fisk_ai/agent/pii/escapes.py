r"""A text as it reads once its JSON escapes are resolved, with everything at its place.

Tool output is JSON, in which a line end is ``\n`` and ``<`` may be ``\u003c``. A pattern would
take the letter behind the backslash for the first of a value, miss the value, or cut the escape in
two.
"""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(rb"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|([\"'/nrtbf]))")
"""Any number of backslashes: JSON text inside JSON text doubles them. Linear, since a run of them
is entered at its beginning alone and never given back."""

_LETTERS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_OTHER: Final = b"\x01"
"""Stands for an escaped letter, digit or character of another alphabet: part of no value."""


def resolved(text: bytes) -> bytes:
    """Return ``text`` with each escape overwritten by what it stands for, as often as it is long.

    The result is as long as ``text``, so that a place in one is a place in the other. A line end
    stays one.
    """
    return _ESCAPE.sub(_filled, text) if b"\\" in text else text


def _filled(match: re.Match[bytes]) -> bytes:
    meaning, length = _meaning(match), len(match[0])
    return meaning.rjust(length, b"\r") if meaning == b"\n" else meaning * length


def _meaning(match: re.Match[bytes]) -> bytes:
    if match[2] is not None:
        return _LETTERS.get(match[2], match[2])
    code = int(match[1], 16)
    if code >= 0x80 or chr(code).isalnum():
        return _OTHER
    return bytes((code,))
