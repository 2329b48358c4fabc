"""What a number in one piece is by its label: an id, a time, a size, or anything, even a card.

One random number in twenty passes for a card. A number that is called something else is none: by
the name in front of it, by the unit behind it, or by the heading of its column. A number that is
called a card is one whatever else is said, and one that nothing is said of may be one. Rules:
``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.names import card_among, is_card, is_other
from fisk_ai.agent.pii.rules import Span
from fisk_ai.agent.pii.tables import Tables

LOOK_BACK_BYTES: Final = 1024
"""How far a list may reach back to its name: some sixty numbers; looked at for each number."""

SENTENCE_BYTES: Final = 64
"""How far in front of a number, on its line, the word ``card`` makes a unit behind it doubtful."""

_CALLED: Final = frozenset(
    b"bytes count id ids inode lsn offset oid pid revision seq seqno sequence serial size tid "
    b"timestamp uid uuid version xid".split()
)
"""Words that stand in front of a number in prose, and say what it is."""

_UNIT: Final = re.compile(
    rb" ?(?:"
    rb"(?:bytes?|(?:nano|micro|milli)seconds)\b"
    rb"|(?:B|[kKMGT]B|[KMGT]iB|ns|us|\xc2\xb5s|ms|Bytes|messages|msgs|records|requests|rows|seconds)"
    rb"(?=[ \t]*+(?:[\r\n]|\Z)| [ ]|\t|[;:!?)\]}|/\"`]|,(?! *[A-Z])"
    rb"|[.'](?:[\s)\]}\"`,]*+(?:[\r\n]|\Z)|[\"`)\]}]))"
    rb")"
)
"""A unit in its own case. Most are also names, places or verbs (``B. Smith``, ``MB Financial``,
``requests a refund``), so what comes next has to show that nothing does."""

_UNIT_BYTES: Final = 96
"""Bytes in which a unit and what follows it are looked for."""

_NAME: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
_BLANKS: Final = b" \t\r\n"
_AROUND: Final = b"\"'`()" + _BLANKS
_IN_LISTS: Final = b"0123456789,-." + _AROUND
_SIGNS: Final = b":=>"


class Labels:
    """The labels of one text; asked from left to right, so that all of it is read once."""

    def __init__(self, text: bytes) -> None:
        """Look at nothing yet."""
        self._text = text
        self._tables = Tables(text)

    def say_otherwise(self, span: Span) -> bool:
        """Say whether the number has a label by which it is no card."""
        start, end = span
        heading = self._tables.heading(span)
        column = b"" if heading is None else heading.name
        has_card = heading is not None and heading.has_card
        before = self._text[max(0, start - LOOK_BACK_BYTES) : start]
        named = _named(before, _SIGNS + b"|" if heading is None else _SIGNS)
        called = _last_name(before.rstrip(b" \t\"'#("))
        if is_card(named) or is_card(called) or (column and has_card):
            return False
        if is_other(column) or (is_other(named) if named else called.lower() in _CALLED):
            return True
        return not has_card and self._has_unit(end) and not card_among(_end_of_line(before))

    def _has_unit(self, end: int) -> bool:
        return _UNIT.match(self._text[end : end + _UNIT_BYTES]) is not None


def _named(before: bytes, signs: bytes) -> bytes:
    """Return the name that the number, or the list it is in, is assigned to."""
    head = before.rstrip(_AROUND)
    outside = head.rstrip(_IN_LISTS)
    if outside.endswith(b"["):
        head = outside[:-1].rstrip(_AROUND)
    assigned = head.rstrip(signs)
    return _last_name(assigned.rstrip(_AROUND)) if assigned != head else b""


def _end_of_line(before: bytes) -> bytes:
    return before[-SENTENCE_BYTES:].rpartition(b"\n")[2]


def _last_name(text: bytes) -> bytes:
    return text[len(text.rstrip(_NAME)) :]
