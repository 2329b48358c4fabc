"""Typed reading of JSON members that were cut out as text.

The readers are as forgiving as the formats they serve: a missing member and ``null`` are the zero
value. A value of another type is refused with ValueError, so that a caller can add where it stood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fisk_ai.text import rawjson
from fisk_ai.text.gojson import RawJSON, compact, loads_string

Fields = Mapping[str, RawJSON]
_NULL = RawJSON(b"null")
_INTEGER = re.compile(rb"-?\d{1,18}")
_HUGE = re.compile(rb"-?\d{19,}")


def present(fields: Fields, key: str) -> bool:
    """Say whether ``key`` holds anything but ``null``."""
    return fields.get(key, _NULL) != _NULL


def string(fields: Fields, key: str) -> str:
    """Return a string; a lone surrogate in it becomes U+FFFD."""
    value = fields.get(key, _NULL)
    if value == _NULL:
        return ""
    try:
        return loads_string(value)
    except ValueError as exc:
        raise ValueError(f"{key} must be a string") from exc


def boolean(fields: Fields, key: str) -> bool:
    """Return ``true`` or ``false``."""
    value = fields.get(key, _NULL)
    if value not in (b"true", b"false", _NULL):
        raise ValueError(f"{key} must be true or false")
    return value == b"true"


def integer(fields: Fields, key: str) -> int:
    """Return an integer; a fraction or an exponent is refused."""
    value = fields.get(key, _NULL)
    if value == _NULL:
        return 0
    if not _INTEGER.fullmatch(value):
        raise ValueError(f"{key} must be an integer")
    return int(value)


def count(fields: Fields, key: str) -> int:
    """Return an integer of any size; of one with too many digits to be a count, -1."""
    return -1 if _HUGE.fullmatch(fields.get(key, _NULL)) else integer(fields, key)


def members(fields: Fields, key: str) -> dict[str, RawJSON]:
    """Return the members of an object; nothing of ``null``."""
    value = fields.get(key, _NULL)
    if value == _NULL:
        return {}
    try:
        return rawjson.members(value)
    except ValueError as exc:
        raise ValueError(f"{key} must be an object") from exc


def elements(fields: Fields, key: str) -> list[RawJSON]:
    """Return the items of a list; nothing of ``null``, which is how Go writes an unset list."""
    value = fields.get(key, _NULL)
    if value == _NULL:
        return []
    try:
        return rawjson.elements(value)
    except ValueError as exc:
        raise ValueError(f"{key} must be a list") from exc


def packed(fields: Fields, key: str, default: bytes = b"null") -> bytes:
    """Return a member's text without insignificant white space, otherwise as it came."""
    return compact(bytes(fields.get(key, default)))
