"""What a number in one piece is by its label: an id, a time, a size, or anything, even a card.

One random number in twenty passes for a card. A number that is called something else is none: by
the name in front of it, by the unit behind it, or by the heading of its column. A number that
nothing is said of may be one. Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Span
from fisk_ai.agent.pii.tables import Tables

LOOK_BACK_BYTES: Final = 1024
"""How far a list may reach back to its name: some sixty numbers; looked at for each number."""

_OTHER: Final = frozenset(
    b"addr address age allocated available average avg block blocks byte bytes capacity "
    b"checksum clock consumed count counter counters cpu cpus crc created cursor date delay "
    b"deleted delivered device disk duration elapsed end epoch etag exp expires free "
    b"generation hash iat id ids index ino inode interval lag last latency length limit limits "
    b"lsn max mem memory messages micros microseconds millis milliseconds min modified mtime "
    b"nano nanos nanoseconds nbf nonce ns nsec offset offsets oid pid position quota reserved "
    b"rev revision rss rv seconds seq seqno seqnum sequence sequences serial shard size "
    b"snowflake start started stopped storage sum swap tid time timestamp timestamps total ts "
    b"ttl uid updated uptime us usage usec used uuid version window xid xmin zxid".split()
)
"""Words of a name that say what a number is."""

_CALLED: Final = frozenset(
    b"bytes count id ids inode lsn offset oid pid revision seq seqno sequence serial size tid "
    b"timestamp uid uuid version xid".split()
)
"""Those that stand in front of a number in prose, and mean it."""

_ENDINGS: Final = (b"bytes", b"id", b"ids", b"offset", b"seq", b"size", b"stamp", b"time")
_NO_IDS: Final = frozenset(b"aid grid hybrid invalid paid prepaid said unpaid valid".split())
"""Words that end like ``requestid`` and are none."""

_UNITS: Final = frozenset(
    b"b byte bytes kb kib mb mib messages microseconds milliseconds ms msgs nanoseconds ns "
    b"records requests rows seconds us".split()
)

_WORD: Final = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_UNIT: Final = re.compile(rb" ?([A-Za-z]+)")
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
        unit = _UNIT.match(self._text, end, end + 16)
        if unit is not None and unit[1].lower() in _UNITS:
            return True
        heading = self._tables.heading(span)
        if _is_other(heading):
            return True
        before = self._text[max(0, start - LOOK_BACK_BYTES) : start]
        named = _named(before, _SIGNS if heading else _SIGNS + b"|")
        return _is_other(named) if named else _is_called_other(before)


def _named(before: bytes, signs: bytes) -> bytes:
    """Return the name that the number, or the list it is in, is assigned to."""
    head = before.rstrip(_AROUND)
    outside = head.rstrip(_IN_LISTS)
    if outside.endswith(b"["):
        head = outside[:-1].rstrip(_AROUND)
    assigned = head.rstrip(signs)
    return _last_name(assigned.rstrip(_AROUND)) if assigned != head else b""


def _is_called_other(before: bytes) -> bool:
    """Say whether the word in front of the number says what it is, as in ``seq 4711``."""
    return _last_name(before.rstrip(b" \t\"'#(")).lower() in _CALLED


def _last_name(text: bytes) -> bytes:
    return text[len(text.rstrip(_NAME)) :]


def _is_other(name: bytes) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if b"card" in name.lower():  # ``used_card`` is one, ``card_id`` is none
        words = words[-1:]
    return any(word in _OTHER or _ends_as_other(word) for word in words)


def _ends_as_other(word: bytes) -> bool:
    return word.endswith(_ENDINGS) and word not in _NO_IDS
