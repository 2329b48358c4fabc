"""Cut JSON text into its members without re-spelling them.

Providers sign, cache and compare what they wrote, so key order, duplicate keys and number
spellings must survive a round trip. A parsed value has lost them; the text between two commas has
not. Every function takes text and returns slices of that text; nothing is ever rendered anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import cast

from fisk_ai.text.gojson import compact
from fisk_ai.text.sanitise import clean_surrogates

_SPACE = re.compile(r"[ \t\n\r]*")


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


# Numbers stay text: nothing here computes with them, and int() refuses very long ones.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)


def text_of(raw: bytes | str) -> str:
    """Return ``raw`` as text; ValueError when it is no UTF-8."""
    return raw.decode("utf-8") if isinstance(raw, bytes) else raw


def members(raw: bytes | str) -> dict[str, str]:
    """Return the members of a JSON object, each value as the text it was written in.

    Of duplicate keys the last wins. Raises ValueError when ``raw`` is not exactly one object.
    """
    found: dict[str, str] = {}
    text = text_of(raw)
    for key, value in _pairs(text):
        found[clean_surrogates(key)] = value
    return found


def elements(raw: bytes | str) -> list[str]:
    """Return the elements of a JSON array as text; ``null`` is an empty list, as Go writes it."""
    text = text_of(raw).strip(" \t\n\r")
    if text == "null":
        return []
    return list(_items(text))


def string(raw: str) -> str:
    """Return a JSON string; ``null`` is empty, a lone surrogate becomes U+FFFD."""
    value = _whole(raw)
    if value is None:
        return ""
    if not isinstance(value, str) or not raw.lstrip(" \t\n\r").startswith('"'):
        raise ValueError("expected a string")
    return clean_surrogates(value)


def boolean(raw: str) -> bool:
    """Return a JSON boolean; ``null`` is false."""
    value = _whole(raw)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def integer(raw: str) -> int:
    """Return a JSON integer; ``null`` is zero, a fraction or an exponent is refused."""
    value = _whole(raw)
    if value is None:
        return 0
    if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,19}", raw.strip(" \t\n\r")):
        raise ValueError("expected an integer")
    return int(value)


def packed(raw: str) -> bytes:
    """Return ``raw`` without insignificant white space; everything else stays as it is."""
    return compact(raw.encode("utf-8"))


class _Cursor:
    """A place in a JSON text; always past white space."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = self._past_space(0)

    def value(self) -> tuple[object, str]:
        """Pass one value; return it, and the text it was written in."""
        start = self.position
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(self.text, start))
        except RecursionError as exc:
            raise ValueError("the JSON is nested too deeply") from exc
        self.position = self._past_space(end)
        return value, self.text[start:end]

    def take(self, mark: str) -> bool:
        """Pass ``mark`` if it stands here."""
        if not self.text.startswith(mark, self.position):
            return False
        self.position = self._past_space(self.position + 1)
        return True

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise ValueError(f"expected {mark} at character {self.position}")

    def finish(self) -> None:
        if self.position != len(self.text):
            raise ValueError("something follows the JSON value")

    def _past_space(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position


def _whole(text: str) -> object:
    cursor = _Cursor(text)
    value, _ = cursor.value()
    cursor.finish()
    return value


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    cursor = _Cursor(text)
    cursor.expect("{")
    if not cursor.take("}"):
        yield _pair(cursor)
        while not cursor.take("}"):
            cursor.expect(",")
            yield _pair(cursor)
    cursor.finish()


def _pair(cursor: _Cursor) -> tuple[str, str]:
    key, spelled = cursor.value()
    if not spelled.startswith('"'):
        raise ValueError(f"expected a key before character {cursor.position}")
    cursor.expect(":")
    return str(key), cursor.value()[1]


def _items(text: str) -> Iterator[str]:
    cursor = _Cursor(text)
    cursor.expect("[")
    if not cursor.take("]"):
        yield cursor.value()[1]
        while not cursor.take("]"):
            cursor.expect(",")
            yield cursor.value()[1]
    cursor.finish()
