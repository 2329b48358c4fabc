"""What a memory may be: the limits of key, description and content, and their normal form.

Every backend checks here before it touches its store, so that what one accepts another can hold.
Rules: ``docs/reference/memory.md``.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.errors import MemoryFullError, MemoryInputError
from fisk_ai.memory.store import Memory
from fisk_ai.text.sanitise import clean_surrogates

KEY_LIMIT: Final = 200
"""Characters of a key: with a suffix it is still a file name, with a prefix still a subject."""

DESCRIPTION_LIMIT: Final = 500
"""Characters of a description: one line of an index."""

CONTENT_LIMIT_BYTES: Final = 65536
"""Bytes of a content in UTF-8: a page of notes, and no dump of a log."""

ENTRIES_LIMIT: Final = 1024
"""Memories of one store: all of them are listed in the prompt."""

VALUE_LIMIT_BYTES: Final = CONTENT_LIMIT_BYTES + 2 * DESCRIPTION_LIMIT * 4 + 64
"""Bytes of a stored value: YAML may quote and escape every byte of a description."""

KEY_RULE: Final = "letters, digits and . _ = - alone, no dot first or last, no two dots in a row"

_KEY: Final = re.compile(r"[A-Za-z0-9._=-]+")
_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")


def check_key(key: str) -> None:
    """Refuse a key that is no legal file name or no legal subject token.

    Raises:
        MemoryInputError: says which of the rules it breaks.
    """
    reason = _fault_of_key(key)
    if reason:
        raise MemoryInputError(reason, key="key")


def is_legal_key(key: str) -> bool:
    """Say whether :func:`check_key` would pass it."""
    return not _fault_of_key(key)


def normal_description(text: str) -> str:
    """Return the one line that is stored: blanks for controls and white space, cut to the limit.

    The cut may leave a blank at the end.

    Raises:
        MemoryInputError: nothing is left of it.
    """
    line = " ".join(clean_surrogates(text).translate(_CONTROLS).split())
    if not line:
        raise MemoryInputError(
            "the description is empty: say in one line what the memory holds", key="description"
        )
    return line[:DESCRIPTION_LIMIT]


def checked(key: str, description: str, content: str) -> Memory:
    """Check key, description and content, in this order, and return what is to be stored.

    Raises:
        MemoryInputError: names the limit that is broken.
    """
    check_key(key)
    line = normal_description(description)
    body = clean_surrogates(content)
    size_bytes = len(body.encode())
    if size_bytes > CONTENT_LIMIT_BYTES:
        raise MemoryInputError(
            f"the content has {size_bytes} bytes, the limit is {CONTENT_LIMIT_BYTES}: "
            "shorten it, or split it over several keys",
            key="content",
        )
    return Memory(line, body)


def check_room(entries: int) -> None:
    """Refuse one memory more than a store may hold; best effort while several processes create.

    Raises:
        MemoryFullError: it holds the maximum.
    """
    if entries >= ENTRIES_LIMIT:
        raise MemoryFullError(
            f"memory is full: it holds {ENTRIES_LIMIT} memories; delete or update one instead"
        )


def _fault_of_key(key: str) -> str:
    if not key:
        return "the key is empty: name the memory"
    if len(key) > KEY_LIMIT:
        return f"the key is too long: it has {len(key)} characters, the limit is {KEY_LIMIT}"
    if not _KEY.fullmatch(key):
        return f"the key holds characters that are not allowed: {KEY_RULE}"
    if key.startswith(".") or key.endswith("."):
        return f"the key begins or ends with a dot: {KEY_RULE}"
    if ".." in key:
        return f"the key holds two dots in a row: {KEY_RULE}"
    return ""
