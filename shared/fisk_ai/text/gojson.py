"""JSON in the exact bytes of the other implementation, and reading without surprises.

Records and messages are compared, hashed and copied as bytes by programs in two languages. This
module owns the spelling: compact, keys in the order given, ``< > &`` and the two Unicode line ends
escaped, everything else in UTF-8. Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring  # C-accelerated, keeps non-ASCII characters

import msgspec

from fisk_ai.text.sanitise import clean_surrogates


class RawJSON(bytes):
    """The JSON text of one value, kept as it was received: key order, spellings, duplicates."""

    __slots__ = ()


_PLAIN_FROM = 1e-6
_PLAIN_BELOW = 1e21
_STRING_OR_SPACE = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\n\r]+', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def _html_safe(text: str) -> str:
    """Escape what HTML or a script would take as its own; JSON has it within strings alone."""
    for character in "<>&\u2028\u2029":
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON form")
    number = Decimal(repr(value))
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return f"{number:f}".removesuffix(".0")
    exponent = number.adjusted()
    mantissa = number.scaleb(-exponent).normalize()
    return f"{mantissa:f}e{exponent:+d}"


def _raw(value: RawJSON) -> str:
    return compact(value).decode(errors="replace")


def _object(value: dict[str, object]) -> str:
    members = [f"{encode_basestring(key)}:{_text(member)}" for key, member in value.items()]
    return "{" + ",".join(members) + "}"


def _list(value: Sequence[object]) -> str:
    return "[" + ",".join(map(_text, value)) + "]"


def _bool(value: object) -> str:
    return "true" if value else "false"


def _null(_: None) -> str:
    return "null"


_WRITERS: dict[type, Callable[..., str]] = {
    str: encode_basestring,
    bool: _bool,
    int: int.__repr__,
    float: _float,
    type(None): _null,
    RawJSON: _raw,
    dict: _object,
    list: _list,
    tuple: _list,
}


def _text(value: object) -> str:
    writer = _WRITERS.get(type(value)) or _inherited_writer(type(value))
    return writer(value)


def _inherited_writer(kind: type) -> Callable[..., str]:
    for base in kind.__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
    raise ValueError(f"a {kind.__name__} has no JSON form")


def dumps(value: object) -> bytes:
    """Write plain data; members keep their order and :class:`RawJSON` keeps its spelling.

    Raises:
        ValueError: a value of another type, a number that is not finite, or nesting too deep.
    """
    try:
        return _html_safe(clean_surrogates(_text(value))).encode()
    except RecursionError as exc:
        raise ValueError("the value is nested too deeply for JSON") from exc


def compact(raw: bytes) -> bytes:
    """Drop the insignificant white space of valid JSON text and keep everything else."""
    return _STRING_OR_SPACE.sub(lambda match: match[1] or b"", raw)


def sort_deep(value: object) -> object:
    """Return the value with the keys of every object in it sorted by code point."""
    if isinstance(value, Mapping):
        members: Mapping[str, object] = value  # pyright: ignore[reportUnknownVariableType] - JSON data
        return {key: sort_deep(members[key]) for key in sorted(members)}
    if isinstance(value, list | tuple):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON data
        return [sort_deep(item) for item in items]
    return value


def refuse_constant(name: str) -> object:
    """Refuse ``NaN`` and the infinities, which Python reads and JSON does not know."""
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is beyond any JSON reader's range")
    return value


_reader = json.JSONDecoder(parse_float=_finite, parse_constant=refuse_constant)
_strings = msgspec.json.Decoder(str)


def mended(raw: bytes) -> bytes:
    """Return JSON text whose escapes of half a surrogate pair, which no text holds, are U+FFFD.

    Everything else keeps its spelling.

    Raises:
        ValueError: bytes that are not UTF-8.
    """
    return _mend_lone_escapes(raw.decode()).encode()


def _mend_lone_escapes(text: str) -> str:
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match["lone"] else match[0], text)


def as_text(raw: bytes | str) -> str:
    """Return JSON text as ``str``; raises :class:`UnicodeDecodeError`, a ``ValueError``."""
    return clean_surrogates(raw) if isinstance(raw, str) else raw.decode()


def loads(raw: bytes | str) -> object:
    """Read one JSON value; of duplicate keys the last wins, lone surrogates become U+FFFD.

    Raises:
        ValueError: no JSON, ``NaN`` or infinity, a number too long to read, bytes that are not
            UTF-8, or nesting too deep.
    """
    try:
        return _reader.decode(_mend_lone_escapes(as_text(raw)))
    except RecursionError as exc:
        raise ValueError("the JSON text is nested too deeply") from exc


def loads_string(raw: bytes) -> str:
    """Read one JSON string, as :func:`loads` does and in a tenth of its time.

    Raises:
        ValueError: no JSON, or another value than a string.
    """
    try:
        return _strings.decode(raw)
    except msgspec.MsgspecError:
        value = loads(raw)  # may be half a surrogate pair, which is mended
    if not isinstance(value, str):
        raise ValueError("expected a string")
    return value
