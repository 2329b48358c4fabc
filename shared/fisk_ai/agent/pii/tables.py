"""The heading of a column: of a table with lines, of separated values, of columns in capitals.

A table ends at an empty line. Its heading is the first line with a letter. A column is certain
when a line has as many cells as the heading, or when a field stands where its heading does and is
the same in number. A text is read once, from left to right, however many numbers are asked about.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Final

from fisk_ai.agent.pii.columns import fields, index_at, separated
from fisk_ai.agent.pii.names import card_among
from fisk_ai.agent.pii.rules import Span

LINE_LIMIT_BYTES: Final = 4096
"""Bytes of a line that is looked at as one of a table."""

NAME_LIMIT_BYTES: Final = 128
"""Bytes of the name of a column; what is longer is none, and is not read for each number."""

HEADING_LINES: Final = 3
"""Lines in which a heading is looked for: a table may begin with one it is drawn with."""

_SEPARATORS: Final = (b"\t", b",", b";")
_LINES: Final = (b"|", "\N{BOX DRAWINGS LIGHT VERTICAL}".encode())
"""What separates the columns of a table that has a line under its heading."""

_DRAWN: Final = (b"--", b"==", "\N{BOX DRAWINGS LIGHT HORIZONTAL}".encode() * 2)
_END_OF_TABLE: Final = re.compile(rb"\n[ \t\r]*+\n")
_LINE: Final = re.compile(rb"[^\n]*+")
_LETTER: Final = re.compile(rb"[A-Za-z]")
_IN_PARENTHESES: Final = re.compile(rb"\([^()]*+\)")


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands over a number: the name of its column, none when that is uncertain.

    ``has_card`` says whether the column, or any that it may be, is named like a card.
    """

    name: bytes
    has_card: bool


class Tables:
    """The tables of one text."""

    def __init__(self, text: bytes) -> None:
        """Begin in front of the text."""
        self._text = text
        self._seen = 0
        self._line = 0
        self._cells: dict[tuple[int, bytes], list[Span]] = {}
        self._begin(0)

    def heading(self, span: Span) -> Heading | None:
        """Return what stands over the column of ``span``, nothing where there is no table.

        Spans are to be asked about in their order.
        """
        start, end = span
        self._advance(start)
        if self._line <= self._heading_end or start - self._line > LINE_LIMIT_BYTES:
            return None
        row = self._text[self._line : start]
        behind = self._text[end : end + 64].lstrip(b' "')
        for separator in self._separators:
            if separator in self._heading and (separator in row or behind.startswith(separator)):
                return self._separated(separator, start - self._line)
        return self._above((start - self._line, end - self._line)) if self._is_upper else None

    def _advance(self, place: int) -> None:
        """Take notice of the lines up to ``place``."""
        ends = deque(_END_OF_TABLE.finditer(self._text, self._seen, place), maxlen=1)
        if ends:
            self._begin(ends[0].end())
        newline = self._text.rfind(b"\n", self._seen, place)
        if newline >= 0:
            self._line = newline + 1
            self._cells.clear()
        self._seen = place

    def _begin(self, start: int) -> None:
        """Find the heading of the table that begins at ``start``."""
        self._head(start, b"", is_ruled=False)
        for _ in range(HEADING_LINES):
            end, line = self._line_at(start)
            heading = _uncarried(line)
            if _LETTER.search(heading) and not _is_drawn(heading):
                self._head(end, heading, is_ruled=_is_drawn(self._line_at(end + 1)[1]))
                return
            start = end + 1

    def _head(self, end: int, heading: bytes, *, is_ruled: bool) -> None:
        self._heading_end, self._heading = end, heading
        self._separators = (*_LINES, *_SEPARATORS) if is_ruled else _SEPARATORS
        self._is_upper = _IN_PARENTHESES.sub(b"", heading).isupper()
        self._uncertain = Heading(b"", has_card=card_among(heading))

    def _line_at(self, start: int) -> tuple[int, bytes]:
        """Return the line that begins at ``start``, as far as it is looked at, and its end."""
        line = _LINE.match(self._text, start, start + LINE_LIMIT_BYTES)
        return (start, b"") if line is None else (line.end(), line[0].rstrip(b"\r"))

    def _separated(self, separator: bytes, place: int) -> Heading:
        """Return the heading of the cell at ``place`` of its line."""
        cells, over = self._split(self._line, separator), self._split(-1, separator)
        index = index_at(cells, place)
        # A semicolon as well as a comma: either may be the one that separates.
        is_mixed = separator == b"," and b";" in self._heading
        if index is None or len(cells) != len(over) or is_mixed:
            return self._uncertain
        cell = self._heading[slice(*over[index])].strip(b' "\r')
        # Prose has commas and semicolons, too; the name of a column is one word there.
        return self._uncertain if separator in b",;" and b" " in cell else self._certain(cell)

    def _above(self, span: Span) -> Heading:
        """Return the words of a heading in capitals that stand right over ``span`` of its line."""
        if any(separator in self._heading for separator in _SEPARATORS):
            return self._uncertain
        # With a card in the heading, only gaps that no name has tell columns apart.
        for gap in (b"  ",) if self._uncertain.has_card else (b"  ", b" "):
            found, over = self._split(self._line, gap), self._split(-1, gap)
            index = index_at(found, span[0])
            if index is None or index >= len(over) or found[index][0] != span[0]:
                continue
            if span[0] == over[index][0] or span[1] == over[index][1]:
                return self._certain(self._heading[slice(*over[index])])
        return self._uncertain

    def _certain(self, name: bytes) -> Heading:
        if len(name) > NAME_LIMIT_BYTES:
            return self._uncertain
        return Heading(name, has_card=card_among(name))

    def _split(self, line: int, separator: bytes) -> list[Span]:
        """Return the cells of the line that begins there, of the heading for -1; split it once."""
        cells = self._cells.get((line, separator))
        if cells is None:
            text = self._heading if line < 0 else self._line_at(line)[1]
            if separator.isspace() and separator != b"\t":
                cells = fields(text, padded=separator == b"  ")
            else:
                cells = separated(text, separator, quoted=separator not in _LINES)
            self._cells[line, separator] = cells
        return cells


def _uncarried(line: bytes) -> bytes:
    """Return the line without the JSON in front of it, which carries what a command printed."""
    is_plain = line.lstrip()[:1] not in (b"{", b"[") and line.count(b'"') % 2 == 0
    return line if is_plain else line.rpartition(b'"')[2]


def _is_drawn(line: bytes) -> bool:
    return any(part in line for part in _DRAWN)
