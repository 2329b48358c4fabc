"""What a name says of a number: that it is a card, that it is something else, or neither.

Names are taken apart at capitals, dots, dashes and underscores. Rules:
``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from typing import Final

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

_CARDS: Final = frozenset(
    b"amex cc credit debit diners discover jcb maestro mastercard pan unionpay visa".split()
)
"""Words that say that it is a card, beside those with ``card`` in them."""

_NO_CARDS: Final = (b"cardiac", b"cardina", b"discard", b"wildcard")
"""Words with ``card`` in them that are about none."""

_ENDINGS: Final = (b"bytes", b"id", b"ids", b"offset", b"seq", b"size", b"stamp", b"time")
_NO_IDS: Final = frozenset(b"aid grid hybrid invalid paid prepaid said unpaid valid".split())
"""Words that end like ``requestid`` and are none."""

_WORD: Final = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAME: Final = re.compile(rb"[A-Za-z0-9_.-]++")


def is_other(name: bytes) -> bool:
    """Say whether a number of this name is no card: ``card_id`` is none, ``used_card`` is one."""
    words = _words(name)
    if any(map(_is_card_word, words)):
        words = words[-1:]
    return any(word in _OTHER or _ends_as_other(word) for word in words)


def is_card(name: bytes) -> bool:
    """Say whether a number of this name is a card."""
    return any(map(_is_card_word, _words(name))) and not is_other(name)


def card_among(text: bytes) -> bool:
    """Say whether one of the names in ``text`` is that of a card."""
    return any(map(is_card, _NAME.findall(text)))


def _words(name: bytes) -> list[bytes]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_card_word(word: bytes) -> bool:
    return word in _CARDS or (b"card" in word and not word.startswith(_NO_CARDS))


def _ends_as_other(word: bytes) -> bool:
    return word.endswith(_ENDINGS) and word not in _NO_IDS
