"""What is nested deeper than a session can hold; a model's reply is paid for, so it is mended.

Readers of JSON recurse, and refuse at a depth that depends on who calls them. Arguments beyond a
depth that every one of them bears are left out of the reply, and their call is answered, never run.
Rules: ``docs/reference/llm.md``.
"""

from __future__ import annotations

from typing import Final

from fisk_ai.text import rawjson

DEPTH_LIMIT: Final = 390
"""Levels of a call's arguments, or of a provider's own block, as a reply brings them."""

LEFT_OUT: Final = b'"(left out: nested too deeply)"'
"""Stands for such arguments in a conversation: no object, so no tool can take it for any."""


def is_too_deep(raw: bytes) -> bool:
    """Say whether JSON text is nested beyond :data:`DEPTH_LIMIT`, whether it can be read or not."""
    return rawjson.is_deeper(raw, DEPTH_LIMIT)


def kept(arguments: bytes) -> bytes:
    """Return the arguments of a call, or what stands for those that are left out."""
    return LEFT_OUT if is_too_deep(arguments) else arguments
