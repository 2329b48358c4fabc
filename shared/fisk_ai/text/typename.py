"""The type of a value in a sentence."""

from __future__ import annotations

_VOWELS = frozenset("aeiouAEIOU")


def a_type(value: object) -> str:
    """Return the name of the type of ``value`` with its article, such as ``an int``."""
    name = type(value).__name__
    return f"{'an' if name[:1] in _VOWELS else 'a'} {name}"
