r"""Where in a JSON document a place is, also in JSON inside the strings of JSON.

A number that is replaced becomes a string there, or the document would be none any more. The quote
of that string is spelled as deep as the place is: ``"``, ``\"`` in a string, ``\\\"`` in a string
of a string. A text is read once, from left to right.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Span

DEPTH_LIMIT: Final = 6
"""Documents in one another: each doubles the backslashes, and nobody nests deeper."""

_QUOTE: Final = re.compile(rb'(?<!\\)(\\*+)"')
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
_BLANKS: Final = b" \t\r\n"
_NEAR: Final = 64
"""Bytes in which the neighbours of a number are looked for, past an indent."""


class Nesting:
    """The strings of one text, and those within them."""

    def __init__(self, data: bytes, seen: bytes) -> None:
        """Begin in front of a text; ``seen`` is the same with its escapes resolved."""
        self._seen = seen
        self._quotes = _QUOTE.finditer(data)
        self._next = next(self._quotes, None)
        self._open: list[tuple[int, int]] = []

    def quote(self, span: Span) -> bytes:
        """Return how a quote is spelled where ``span`` is a number of a document, else nothing.

        Spans are to be asked about in their order.
        """
        start, end = span
        if not _NUMBER.fullmatch(self._seen, start, end):
            return b""
        before = self._seen[max(0, start - _NEAR) : start].rstrip(_BLANKS)
        behind = self._seen[end : end + _NEAR].lstrip(_BLANKS)
        if before[-1:] not in (b":", b"[", b",") or behind[:1] not in (b",", b"]", b"}"):
            return b""
        self._advance(start)
        depth, content = self._open[-1] if self._open else (-1, 0)
        is_value = before.endswith((b'":', b'" :'))
        if depth + 1 > DEPTH_LIMIT or not (is_value or self._is_document(content)):
            return b""
        return b"\\" * (2 ** (depth + 1) - 1) + b'"'

    def _advance(self, place: int) -> None:
        while self._next is not None and self._next.start() < place:
            self._take(self._next)
            self._next = next(self._quotes, None)

    def _take(self, quote: re.Match[bytes]) -> None:
        """Open a string, or end one and whatever is still open in it."""
        depth = _depth(len(quote[1]))
        if not self._open or depth > self._open[-1][0]:
            self._open.append((depth, quote.end()))
            return
        while self._open and self._open.pop()[0] > depth:
            pass

    def _is_document(self, content: int) -> bool:
        return self._seen[content : content + _NEAR].lstrip(_BLANKS)[:1] in (b"{", b"[")


def _depth(backslashes: int) -> int:
    """Return in how many strings a quote stands: each of them doubles and adds one."""
    depth = 0
    while backslashes % 2:
        backslashes //= 2
        depth += 1
    return depth
