"""What a name says of the value that is assigned to it: a secret, maybe one, or none.

Names are taken apart at capitals, digits, dots, dashes and underscores. A token or a key whose word
in front says that it is a place in a list or the key of a table is none: a model that cannot read
it cannot ask for the next page. Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

import re
from typing import Final

_CURSORS: Final = frozenset(
    b"backward continuation continue cursor delta evaluated forward next page pagination paging "
    b"prev previous scroll sequence skip start starting sync".split()
)
"""Words in front of ``token`` or ``key`` for a place in a list."""

_KEYS: Final = _CURSORS | frozenset(
    b"cache composite dedup deduplication foreign group idempotency index lookup object partition "
    b"primary pub public range row shard sort unique".split()
)
"""Words in front of ``key`` for the key of a table, or one that everybody may know."""

_WORDS_IN_KEY: Final = frozenset(b"donkey hockey jockey monkey turkey whiskey".split())
"""Words that end like a key and are none."""

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


def is_public(name: bytes) -> bool:
    """Say whether a value of this name is a cursor, the key of a table or a public key."""
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
    return bool(kind and words) and words[-1] in (_KEYS if kind == b"key" else _CURSORS)


def _kind(word: bytes) -> bytes:
    return next((kind for kind in _KINDS if word.endswith(kind)), b"")
