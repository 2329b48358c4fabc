"""Where the columns of one line are: between separators outside quotes, or between blanks."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from fisk_ai.agent.pii.rules import Span

_FIELD: Final = re.compile(rb"[^ ]++")
_PADDED: Final = re.compile(rb"[^ ]++(?: [^ ]++)*+")


def separated(line: bytes, separator: bytes, *, quoted: bool) -> list[Span]:
    """Return the cells of a line, none when one of its quotes has no other."""
    if not quoted or b'"' not in line:
        return _pieces(line, separator)
    return _cells(line, separator)


def _pieces(line: bytes, separator: bytes) -> list[Span]:
    cells: list[Span] = []
    place = 0
    for piece in line.split(separator):
        cells.append((place, place + len(piece)))
        place += len(piece) + len(separator)
    return cells


def _cells(line: bytes, separator: bytes) -> list[Span]:
    """Split a line where as many quotes were opened as closed.

    A quote in the middle of a cell ends the string that carries the line.
    """
    cells: list[Span] = []
    start = place = quotes = 0
    for piece in line.split(separator):
        found = piece.count(b'"')
        if found and place == start and not piece.lstrip(b" ").startswith(b'"'):
            return [*cells, (start, start + piece.index(b'"'))]
        quotes += found
        place += len(piece)
        if quotes % 2 == 0:
            cells.append((start, place))
            start = place + len(separator)
        place += len(separator)
    return cells if quotes % 2 == 0 else []


def fields(line: bytes, *, padded: bool) -> list[Span]:
    """Return what stands between blanks; between two or more of them where ``padded``."""
    return [match.span() for match in (_PADDED if padded else _FIELD).finditer(line)]


def index_at(cells: list[Span], place: int) -> int | None:
    """Return which of the cells ``place`` is in."""
    index = bisect_right(cells, (place, 1 << 62)) - 1
    return index if index >= 0 and place < cells[index][1] else None
