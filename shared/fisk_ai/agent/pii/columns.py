"""Where the columns of one line are: between separators outside quotes, or between blanks."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from fisk_ai.agent.pii.rules import Span

_QUOTES: Final = re.compile(rb'"++')
_FIELD: Final = re.compile(rb"[^ ]++")
_PADDED: Final = re.compile(rb"[^ ]++(?: [^ ]++)*+")
_WIDTHS: Final = (1, 2, 4, 8)
"""Bytes of one quote: a string in JSON has its escapes resolved, which leaves them doubled."""


def separated(line: bytes, separator: bytes, *, quoted: bool) -> list[Span]:
    """Return the cells of a line, none when its quotes can be read in more than one way."""
    if not quoted or b'"' not in line:
        return _pieces(line, separator)
    runs = {len(run) for run in _QUOTES.findall(line)}
    widths = [width for width in _WIDTHS if not any(run % width for run in runs)]
    first, *others = [_cells(line, separator, width) for width in widths]
    return [] if any(other != first for other in others) else first


def _pieces(line: bytes, separator: bytes) -> list[Span]:
    cells: list[Span] = []
    place = 0
    for piece in line.split(separator):
        cells.append((place, place + len(piece)))
        place += len(piece) + len(separator)
    return cells


def _cells(line: bytes, separator: bytes, width: int) -> list[Span]:
    """Split a line where as many quotes were opened as closed.

    A quote in the middle of a cell ends the string that carries the line.
    """
    cells: list[Span] = []
    start = place = quotes = 0
    for piece in line.split(separator):
        found = piece.count(b'"') // width
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
