"""The heading of a column: of a table with lines, of separated values, of columns in capitals.

A table ends at an empty line. Its heading is the first line with a letter. A text is read once,
from left to right, however many numbers are asked about.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

from fisk_ai.agent.pii.rules import Span

LINE_LIMIT_BYTES: Final = 4096
"""Bytes of a line that is looked at as one of a table: it is read for each number in it."""

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


class Tables:
    """The tables of one text."""

    def __init__(self, text: bytes) -> None:
        """Begin in front of the text."""
        self._text = text
        self._seen = 0
        self._line = 0
        self._heading_end, self._heading = 0, b""
        self._separators = _SEPARATORS
        self._begin(0)

    def heading(self, span: Span) -> bytes:
        """Return what stands over the column of ``span``, nothing where there is no table.

        Spans are to be asked about in their order.
        """
        start, end = span
        self._advance(start)
        if self._line <= self._heading_end or start - self._line > LINE_LIMIT_BYTES:
            return b""
        row = self._text[self._line : start]
        behind = self._text[end : end + 64].lstrip(b' "')
        for separator in self._separators:
            if separator in self._heading and (separator in row or behind.startswith(separator)):
                return self._cell(separator, row.count(separator))
        return self._above(len(row), len(row) + end - start)

    def _advance(self, place: int) -> None:
        """Take notice of the lines up to ``place``."""
        ends = deque(_END_OF_TABLE.finditer(self._text, self._seen, place), maxlen=1)
        if ends:
            self._begin(ends[0].end())
        newline = self._text.rfind(b"\n", self._seen, place)
        if newline >= 0:
            self._line = newline + 1
        self._seen = place

    def _begin(self, start: int) -> None:
        """Find the heading of the table that begins at ``start``."""
        self._heading_end, self._heading = start, b""
        for _ in range(HEADING_LINES):
            end, line = self._line_at(start)
            # The first line of what a command printed stands behind the JSON that carries it.
            heading = line.rpartition(b'"')[2]
            if _LETTER.search(heading) and not _is_drawn(heading):
                self._heading_end, self._heading = end, heading
                is_ruled = _is_drawn(self._line_at(end + 1)[1])
                self._separators = (*_LINES, *_SEPARATORS) if is_ruled else _SEPARATORS
                return
            start = end + 1

    def _line_at(self, start: int) -> tuple[int, bytes]:
        """Return the line that begins at ``start``, as far as it is looked at, and its end."""
        line = _LINE.match(self._text, start, start + LINE_LIMIT_BYTES)
        return (start, b"") if line is None else (line.end(), line[0].rstrip(b"\r"))

    def _cell(self, separator: bytes, number: int) -> bytes:
        cells = self._heading.split(separator)
        cell = cells[number].strip() if number < len(cells) else b""
        # Prose has commas and semicolons, too; the name of a column is one word there.
        return b"" if separator in b",;" and b" " in cell else cell

    def _above(self, start: int, end: int) -> bytes:
        """Return the words of a heading in capitals that stand right over ``start`` to ``end``."""
        if not _IN_PARENTHESES.sub(b"", self._heading).isupper():
            return b""
        left = self._heading.rfind(b" ", 0, start + 1) + 1
        right = self._heading.find(b" ", end)
        return self._heading[left : right if right >= 0 else None].strip()


def _is_drawn(line: bytes) -> bool:
    return any(part in line for part in _DRAWN)
