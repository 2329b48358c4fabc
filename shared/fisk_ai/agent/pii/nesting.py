r"""Where in a JSON document a place is, also in JSON inside the strings of JSON.

A number that is replaced becomes a string there, or the document would be none any more. The quote
of that string is spelled as deep as the place is: ``"``, ``\"`` in a string, ``\\\"`` in a string
of a string. A text is read once, from left to right.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.escapes import LEVEL_LIMIT, QUOTES
from fisk_ai.agent.pii.rules import Span

_QUOTE: Final = re.compile(rb"[" + QUOTES + rb"]")
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
_BLANKS: Final = b" \t\r\n"
_BLANK: Final = re.compile(rb"[ \t\r\n]*+")
_STEP_BYTES: Final = 64
"""Bytes in which one looks back past blanks at first: a usual indent."""


class Nesting:
    """The strings of one text, and those within them."""

    def __init__(self, seen: bytes, marked: bytes) -> None:
        """Begin in front of a text; ``marked`` is the same with the level of each quote."""
        self._seen = seen
        self._quotes = _QUOTE.finditer(marked)
        self._next = next(self._quotes, None)
        self._open: list[tuple[int, bool]] = []
        self._is_text_document = self._is_document(0)

    def depth(self, span: Span) -> int | None:
        """Return in how many strings ``span`` is a number of a document, nothing where it is none.

        Spans are to be asked about in their order.
        """
        start, end = span
        if not _NUMBER.fullmatch(self._seen, start, end):
            return None
        sign, before = self._before(start)
        if sign not in (b":", b"[", b",") or self._behind(end) not in (b",", b"]", b"}"):
            return None
        self._advance(start)
        depth, is_document = self._open[-1] if self._open else (-1, self._is_text_document)
        is_value = sign == b":" and self._before(before)[0] == b'"'
        if depth + 1 > LEVEL_LIMIT or not (is_value or is_document):
            return None
        return depth + 1

    def _advance(self, place: int) -> None:
        while self._next is not None and self._next.start() < place:
            self._take(self._next)
            self._next = next(self._quotes, None)

    def _take(self, quote: re.Match[bytes]) -> None:
        """Open a string, or end one; either ends whatever is still open deeper in."""
        depth = QUOTES.index(quote[0])
        while self._open and self._open[-1][0] > depth:
            self._open.pop()
        if self._open and self._open[-1][0] == depth:
            self._open.pop()
        else:
            self._open.append((depth, self._is_document(quote.end())))

    def _is_document(self, content: int) -> bool:
        return self._behind(content) in (b"{", b"[")

    def _before(self, place: int) -> tuple[bytes, int]:
        """Return what stands in front of ``place`` and any blanks, and where.

        A step is as long as all before it, so that a byte is copied twice at most: the blanks
        between two numbers are looked at once in each direction, however many there are.
        """
        step = _STEP_BYTES
        while place > 0:
            piece = self._seen[max(0, place - step) : place]
            found = piece.rstrip(_BLANKS)
            place -= len(piece) - len(found)
            if found:
                return found[-1:], place - 1
            step *= 2
        return b"", 0

    def _behind(self, place: int) -> bytes:
        """Return what stands behind ``place`` and any blanks."""
        blanks = _BLANK.match(self._seen, place)
        end = place if blanks is None else blanks.end()
        return self._seen[end : end + 1]
