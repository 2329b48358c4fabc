"""Cutting JSON text into its parts without reading them.

What a model or a provider wrote is passed on in its own spelling. So a record is taken apart by
position, and only the parts that are ours are ever read. Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re

import msgspec

from fisk_ai.text import cursor
from fisk_ai.text.gojson import RawJSON, as_text

_STRING_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


def members(raw: bytes | str) -> dict[str, RawJSON]:
    """Cut a JSON object into its members' texts; of duplicate keys the last wins.

    Raises:
        ValueError: not exactly one JSON object.
    """
    text = as_text(raw)
    try:
        return {key: RawJSON(value) for key, value in _object.decode(text).items()}
    except (msgspec.MsgspecError, RecursionError):
        return cursor.members(text)


def elements(raw: bytes | str) -> list[RawJSON]:
    """Cut a JSON list into its items' texts.

    Raises:
        ValueError: not exactly one JSON list.
    """
    text = as_text(raw)
    try:
        return [RawJSON(value) for value in _list.decode(text)]
    except (msgspec.MsgspecError, RecursionError):
        return cursor.elements(text)


def is_deeper(raw: bytes, limit: int) -> bool:
    """Say whether more than ``limit`` brackets stand open at once in JSON text."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    level = 0
    for token in _STRING_OR_BRACKET.finditer(raw):
        if token[0] in (b"{", b"["):
            level += 1
            if level > limit:
                return True
        elif token[0] in (b"}", b"]"):
            level -= 1
    return False
