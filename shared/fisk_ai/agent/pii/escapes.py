r"""A text as it reads once its JSON escapes are resolved, level by level, also those of letters.

Tool output is JSON, in which a line end is ``\n``, ``=`` may be ``\u003d`` and ``/`` may be ``\/``;
JSON in a string of JSON is escaped once more. A pattern would take the letter behind the backslash
for the first of a value, miss the value, or cut the escape in two. So each level is resolved as a
reader of it would, until nothing is left to resolve, and every step is kept as a map back.

A quote that ends a string must not be taken for an escaped one when the string ends in a backslash.
Therefore the quotes of each level become a byte of their own, which no text in UTF-8 has.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rewriting import Rewriting

LEVEL_LIMIT: Final = 7
"""Strings in one another: each doubles the backslashes, and nobody nests deeper. It also bounds the
time, since an escaped backslash may always be the first of the next escape."""

QUOTES: Final = bytes(range(0xF8, 0xF8 + LEVEL_LIMIT + 1))
"""What stands for a quote of each level."""

_ESCAPE: Final = re.compile(
    rb"(\\(?:\\(?:\\\\)*+"
    rb"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"
    rb"|[\"'/nrtbf]))"
)
"""One escape, or a run of escaped backslashes, which is one piece however long it is."""

_LETTERS: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_RESOLVED_QUOTE: Final = b"\xc0"
"""A quote that was escaped, until those that were not have become bytes of their level."""

_READ: Final = bytes.maketrans(QUOTES, b'"' * len(QUOTES))


def resolved(data: bytes) -> tuple[bytes, list[Rewriting]]:
    """Return ``data`` without escapes and with :data:`QUOTES` for its quotes, and the steps."""
    text = data
    steps: list[Rewriting] = []
    while b"\\" in text and len(steps) < LEVEL_LIMIT:
        parts = _ESCAPE.split(text)
        if len(parts) == 1:
            break
        step = Rewriting(parts, list(map(_Meanings().__getitem__, parts[1::2])))
        level = len(steps)
        own_quotes = bytes.maketrans(b'"' + _RESOLVED_QUOTE, QUOTES[level : level + 1] + b'"')
        text = step.text.translate(own_quotes)
        steps.append(step)
    return text.replace(b'"', QUOTES[len(steps) : len(steps) + 1]), steps


def readable(text: bytes) -> bytes:
    """Return ``text`` with a quote for each of :data:`QUOTES`, at its place."""
    return text.translate(_READ)


class _Meanings(dict[bytes, bytes]):
    """What escapes stand for; each is worked out once."""

    def __missing__(self, escape: bytes) -> bytes:
        self[escape] = meaning = _meaning(escape)
        return meaning


def _meaning(escape: bytes) -> bytes:
    kind = escape[1:2]
    if kind == b"u":
        units = bytes.fromhex(escape.replace(b"\\u", b"").decode())
        meaning = units.decode("utf-16-be", "surrogatepass").encode(errors="surrogatepass")
    else:
        meaning = b"\\" * (len(escape) // 2) if kind == b"\\" else _LETTERS.get(kind, kind)
    return _RESOLVED_QUOTE if meaning == b'"' else meaning
