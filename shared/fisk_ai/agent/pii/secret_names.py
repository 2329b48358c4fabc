"""What a name says of the value that is assigned to it: a secret, maybe one, or none.

Names are taken apart at capitals, digits, dots, dashes and underscores. A token or a key whose word
in front says that it is a place in a list or the key of a table is none: a model that cannot read
it cannot ask for the next page. Whoever else is named in front of a place in a list owns a secret
(``FACEBOOK_PAGE_TOKEN``), and a name in capitals is a setting, where fewer words say so
(``SKIP_TOKEN``). Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from typing import Final

_PLAIN_CURSORS: Final = frozenset(
    b"continuation cursor evaluated next page pagination paging prev previous".split()
)
_CURSORS: Final = _PLAIN_CURSORS | frozenset(
    b"backward continue delta forward scroll sequence skip start starting sync".split()
)
"""Words in front of ``token`` or ``key`` for a place in a list."""

_OF_LISTS: Final = _CURSORS | frozenset(
    b"current encoded events exclusive first initial items last list listing log logs new object "
    b"objects old query request response result results search stream the upload".split()
)
"""Words that may stand further in front of a cursor: they name no one whose secret it could be."""

_PLAIN_TABLE_KEYS: Final = frozenset(
    b"composite dedup deduplication foreign idempotency partition pub public row shard sort".split()
)
_TABLE_KEYS: Final = _PLAIN_TABLE_KEYS | frozenset(
    b"cache group index lookup object primary range unique".split()
)
"""Words in front of ``key`` for the key of a table, or one that everybody may know.

A name in capitals is a setting, in which only the plain words mean what they do elsewhere:
``SYNC_TOKEN`` is what a service signs in with.
"""

_PRIMARY: Final = b"primary"
_DRAWN_KEY: Final = re.compile(rb"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/]{40,}={0,2}")
"""The primary key of an account, as clouds hand them out; of a table it is shorter, or a digest."""

_WORDS_IN_FRONT: Final = re.compile(rb"(?:[A-Za-z0-9_.-]+ ){0,2}[A-Za-z0-9_.-]*\Z")

_WORDS_IN_KEY: Final = frozenset(b"donkey hockey jockey monkey turkey whiskey".split())
"""Words that end like a key and are none."""

_NAME_BYTES: Final = 128
"""How far a name is looked for: longer ones nobody writes."""

_WORD: Final = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KINDS: Final = (b"token", b"key")

_STRONG: Final = re.compile(
    rb"(?i)(?:token|secret|password|passwd|passphrase|pwd|"
    rb"(?:api|access|secret|private|auth|encryption|signing|master|service|account|client|app|"
    rb"admin|deploy|license|licence|session)[_.-]?key)\Z"
)
"""Names that promise a secret; any other key may be the key of a table."""


def promises_secret(name: bytes) -> bool:
    """Say whether a value of this name is a secret whatever its shape."""
    return _STRONG.search(name) is not None


def is_public(name: bytes, value: bytes) -> bool:
    """Say whether ``value`` of this name is a cursor, the key of a table or a public key."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words[-1:] and words[-1] in _WORDS_IN_KEY:
        return True
    kind = b""
    while words and (found := _kind(words[-1])):
        kind = found
        words[-1] = words[-1].removesuffix(kind)
        if words[-1]:
            break
        words.pop()
    if not kind or not words:
        return False
    is_setting = name.isupper()
    if kind == b"key" and words[-1] in (_PLAIN_TABLE_KEYS if is_setting else _TABLE_KEYS):
        return words[-1] != _PRIMARY or _DRAWN_KEY.fullmatch(value) is None
    is_cursor = words[-1] in (_PLAIN_CURSORS if is_setting else _CURSORS)
    return is_cursor and _OF_LISTS.issuperset(words[:-1])


def name_ending_at(text: bytes, place: int) -> bytes:
    """Return the name in ``text`` up to ``place``; a single word with up to two in front of it."""
    found = _WORDS_IN_FRONT.search(text, max(0, place - _NAME_BYTES), place)
    words = found[0].split(b" ") if found is not None else [b""]
    return b" ".join(words) if words[-1].lower() in _KINDS else words[-1]


def _kind(word: bytes) -> bytes:
    return next((kind for kind in _KINDS if word.endswith(kind)), b"")
