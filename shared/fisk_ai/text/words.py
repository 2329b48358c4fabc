r"""One word of a command line as a person must see it: nothing hidden in it, nothing to misread.

A plain word stays as it is. Any other is quoted, and what would not be seen is written as its
code point, so two different words never look the same because of a character without a shape.
Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_MISREAD = frozenset(" '\"`()")
"""Blanks and quotes could end a word for its reader; parentheses mark what was left out."""

_EMPTY_LOOKING = frozenset(
    map(
        chr,
        (
            0x034F,  # joins without a shape
            *range(0x115F, 0x1161),  # Hangul fillers
            *range(0x17B4, 0x17B6),  # Khmer inherent vowels
            *range(0x180B, 0x1810),  # Mongolian selectors
            0x2800,  # the Braille cell without dots
            0x3164,
            0xFFA0,  # Hangul fillers
            *range(0xFE00, 0xFE10),  # variation selectors
            *range(0xE0100, 0xE01F0),
            0x16FE4,  # Khitan filler
            0x1D159,  # a note without a head
        ),
    )
)
"""Characters that Unicode counts as printable and a screen shows as nothing."""


def shown(word: str) -> str:
    r"""Return ``word`` if it is plain, else ``'…'`` around it with ``\'``, ``\\`` and ``\u{…}``.

    The result is one line without two blanks in a row, and another word has another result.
    """
    inside = "".join(_cells(word))
    plain = word and inside == word and _MISREAD.isdisjoint(word)
    return word if plain else f"'{inside}'"


def elided(word: str, room: int) -> str:
    """Return ``word`` as shown, its middle replaced by ``...(N more)...`` where that is shorter.

    About ``room`` code points are left of it, two thirds in front and one behind. ``N`` counts
    the code points left out. The mark stands outside the quotes, where no word can forge it.
    """
    front = _fitting(_cells(word[:room]), room - room // 3)
    back = _fitting(reversed(_cells(word[-room:])), room // 3)
    left_out = len(word) - front - back
    if left_out <= 0:
        return shown(word)
    ends = (word[:front], word[len(word) - back :])
    head, tail = (shown(end) if end else "" for end in ends)
    short = f"{head}...({left_out} more)...{tail}"
    if len(word) >= len(short):
        return short
    whole = shown(word)
    return whole if len(whole) <= len(short) else short


def visible(text: str) -> str:
    """Return the characters of ``text`` that a reader can see, and its blanks."""
    return "".join(char for char in text if not _is_hidden(char))


def _cells(word: str) -> list[str]:
    """Return the characters as they are shown inside quotes, one by one."""
    cells: list[str] = []
    before = ""
    for char in word:
        before = _cell(before, char)
        cells.append(before)
    return cells


def _cell(before: str, char: str) -> str:
    if char in ("'", "\\"):
        return f"\\{char}"
    doubled = char == before == " "
    loose = not char.isascii() and _is_mark(char) and not _carries_marks(before)
    return f"\\u{{{ord(char):x}}}" if _is_hidden(char) or doubled or loose else char


def _is_hidden(char: str) -> bool:
    return not char.isprintable() or char in _EMPTY_LOOKING


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _carries_marks(cell: str) -> bool:
    """Say whether a mark behind ``cell`` is part of a letter, and not of our quotes or escapes."""
    return len(cell) == 1 and unicodedata.category(cell)[0] in "LM"


def _fitting(cells: Iterable[str], room: int) -> int:
    """Return how many leading ``cells`` have a place in ``room`` code points."""
    count = 0
    for cell in cells:
        room -= len(cell)
        if room < 0:
            break
        count += 1
    return count
