r"""What of a span may be replaced without breaking the JSON around it, also JSON in its strings.

A quote is never replaced, so every string begins and ends where it did. Between two quotes there is
either a part of a string, which is replaced, or what stands between strings: punctuation and the
like, which stays, and numbers. A number that is replaced becomes a string. The quote of that string
is spelled as deep as the place is: ``"``, ``\"`` in a string, ``\\\"`` in a string of a string. A
text is read once, from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fisk_ai.agent.pii.escapes import LEVEL_LIMIT, QUOTES
from fisk_ai.agent.pii.rules import Span

Piece = tuple[int, int, int | None]
"""A start, an end, and for a number of a document in how many strings that document is."""

_QUOTE: Final = re.compile(rb"[" + QUOTES + rb"]")
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
_BETWEEN_STRINGS: Final = re.compile(
    rb"(?:[ \t\r\n,:\[\]{}]++"
    rb"|(?:-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)(?=[ \t\r\n]*+[,\]}]))*+"
)
"""Punctuation, and values that are no strings, each with punctuation behind it."""

_PLACEHOLDER: Final = re.compile(rb"\[[A-Z_]+-REDACTED\]")
_BLANKS: Final = b" \t\r\n"
_BLANK: Final = re.compile(rb"[ \t\r\n]*+")
_STEP_BYTES: Final = 64
"""Bytes in which one looks back past blanks at first: a usual indent."""


class Nesting:
    """The strings of one text, and those within them."""

    def __init__(self, seen: bytes, marked: bytes) -> None:
        """Begin in front of a text; ``marked`` is the same with the level of each quote."""
        self._seen = seen
        self._marked = marked
        self._quotes = _QUOTE.finditer(marked)
        self._next = next(self._quotes, None)
        self._open: list[tuple[int, bool]] = []
        self._is_text_document = self._is_document(0)
        self._run_start = 0
        self._is_run_between: bool | None = None

    def pieces(self, span: Span) -> Iterator[Piece]:
        """Yield what of ``span`` is to be replaced; spans are to be asked about in their order."""
        start, end = span
        self._advance(start)
        while start < end:
            stop = end if self._next is None else min(end, self._next.start())
            yield from self._piece(start, stop)
            start = stop + 1
            self._advance(min(start, end))

    def _piece(self, start: int, end: int) -> Iterator[Piece]:
        """Yield what is to be replaced of a part of a span that holds no quote."""
        if start == end or _PLACEHOLDER.fullmatch(self._seen, start, end):
            return
        depth, is_document = self._open[-1] if self._open else (-1, self._is_text_document)
        is_document = is_document and depth < LEVEL_LIMIT
        number_depth = self._number_depth(start, end, depth + 1 if is_document else None)
        stays = number_depth is None and is_document and self._is_between_strings()
        if not stays:
            yield start, end, number_depth

    def _number_depth(self, start: int, end: int, here: int | None) -> int | None:
        """Return where this is a number, with nothing cut off, of a document; ``here`` is one."""
        if not _NUMBER.fullmatch(self._seen, start, end):
            return None
        sign, place = self._before(start)
        behind = self._behind(end)
        if not sign and not behind:  # the number is all of the text
            return 0
        if sign not in (b":", b"[", b",") or behind not in (b",", b"]", b"}"):
            return None
        if sign != b":":
            return here
        _, end_of_name = self._before(place)
        name_depth = QUOTES.find(self._marked[end_of_name : end_of_name + 1])
        return here if name_depth < 0 else name_depth

    def _is_between_strings(self) -> bool:
        """Say whether this is no string, as all of it up to the next quotes shows; look once."""
        if self._is_run_between is None:
            end = len(self._seen) if self._next is None else self._next.start()
            run = _BETWEEN_STRINGS.fullmatch(self._seen, self._run_start, end)
            self._is_run_between = run is not None
        return self._is_run_between

    def _advance(self, place: int) -> None:
        while self._next is not None and self._next.start() < place:
            self._take(self._next)
            self._run_start, self._is_run_between = self._next.end(), None
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
