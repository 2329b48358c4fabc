"""Cutting text by bytes without cutting a character.

Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

from fisk_ai.text.sanitise import clean_surrogates


def utf8_prefix(s: str, max_bytes: int) -> str:
    """Return the longest prefix of at most ``max_bytes`` UTF-8 bytes."""
    if max_bytes <= 0:
        return ""
    encoded = clean_surrogates(s).encode()
    return encoded[:max_bytes].decode(errors="ignore")
