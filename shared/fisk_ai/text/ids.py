"""Which strings may name something: they become file names and subject tokens.

Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re
import secrets
import time

SESSION_ID_LIMIT = 128
"""Longest session id: with its suffix it must stay a file name and a subject token."""

KSUID_LENGTH = 27
"""Characters of a KSUID: twenty bytes in base 62, zero padded."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_EPOCH_S = 1_400_000_000
_RANDOM_BYTES = 16
_SESSION_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
_TOKEN = re.compile(r"[a-zA-Z0-9_-]+")


def ksuid() -> str:
    """Return a fresh id of 27 characters; ids of later seconds sort behind earlier ones."""
    stamp = (int(time.time()) - _EPOCH_S).to_bytes(4, "big")
    number = int.from_bytes(stamp + secrets.token_bytes(_RANDOM_BYTES), "big")
    digits: list[str] = []
    for _ in range(KSUID_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def ksuid_time_s(ksuid_text: str) -> int:
    """Return the second a KSUID was made in, since 1970 UTC.

    Raises:
        ValueError: ``ksuid_text`` is none.
    """
    number = 0
    for character in ksuid_text:
        number = number * len(_ALPHABET) + _ALPHABET.index(character)
    return (number >> (8 * _RANDOM_BYTES)) + _EPOCH_S


def valid_session_id(s: str) -> bool:
    """Say whether ``s`` may name a session; never becomes a path, a flag or a wildcard."""
    return len(s) <= SESSION_ID_LIMIT and _SESSION_ID.fullmatch(s) is not None


def valid_token(s: str) -> bool:
    """Say whether ``s`` may be a request id, an identity or a token on the wire."""
    return _TOKEN.fullmatch(s) is not None
