"""Cutting JSON text by walking over it: takes all that may be read, and says where it may not.

Slow, and the measure of :mod:`fisk_ai.text.rawjson`, which asks it about what a faster reader
refuses: lone surrogates above all, which other implementations write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from fisk_ai.text.gojson import RawJSON, loads, refuse_constant

_SPACE = re.compile(r"[ \t\n\r]*")
_skipper = json.JSONDecoder(  # numbers of any size are only text here
    parse_int=len, parse_float=len, parse_constant=refuse_constant
)


class _Cursor:
    """Walks over the top level of one container and cuts out its values."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> str:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def expect(self, characters: str) -> str:
        found = self.skip()
        if not found or found not in characters:
            raise ValueError(f"expected one of {characters} at character {self.at}")
        self.at += 1
        return found

    def value(self) -> RawJSON:
        self.skip()
        start = self.at
        _, self.at = _skipper.raw_decode(self.text, start)
        return RawJSON(self.text[start : self.at].encode())

    def end(self) -> None:
        if self.skip():
            raise ValueError(f"more text behind the value at character {self.at}")


def _split(text: str, brackets: str, take: Callable[[_Cursor], None]) -> None:
    cursor = _Cursor(text)
    try:
        cursor.expect(brackets[0])
        if cursor.skip() == brackets[1]:
            cursor.at += 1
        else:
            take(cursor)
            while cursor.expect(f",{brackets[1]}") == ",":
                take(cursor)
        cursor.end()
    except RecursionError as exc:
        raise ValueError("the JSON text is nested too deeply") from exc


def members(text: str) -> dict[str, RawJSON]:
    """Cut a JSON object into its members' texts; of duplicate keys the last wins.

    Raises:
        ValueError: not exactly one JSON object.
    """
    found: dict[str, RawJSON] = {}

    def take(cursor: _Cursor) -> None:
        key = loads(cursor.value())
        if not isinstance(key, str):
            raise ValueError("an object's key is no string")
        cursor.expect(":")
        found[key] = cursor.value()

    _split(text, "{}", take)
    return found


def elements(text: str) -> list[RawJSON]:
    """Cut a JSON list into its items' texts.

    Raises:
        ValueError: not exactly one JSON list.
    """
    found: list[RawJSON] = []
    _split(text, "[]", lambda cursor: found.append(cursor.value()))
    return found
