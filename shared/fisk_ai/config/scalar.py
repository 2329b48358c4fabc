"""How one value of the file is spelled: canonical text of a scalar, and quoting in messages."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Final

QUOTE_LIMIT: Final = 80
"""Code points of an offending value that a message repeats: enough to find it, never a document."""

_MIN_EXPONENT: Final = -4
_MAX_EXPONENT: Final = 6
"""Below and from these powers of ten, the shortest ``%g`` of Go turns to scientific form."""


def canonical(value: object) -> object:
    """Return the text a string field keeps for an unquoted number or boolean; others unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return value


def _float_text(value: float) -> str:
    """Spell a float as Go's shortest ``%g`` does, so that one file means one text to both."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted() if number else 0
    if _MIN_EXPONENT <= exponent < _MAX_EXPONENT:
        return f"{number:f}"
    sign, digits, _ = number.as_tuple()
    fraction = "".join(map(str, digits[1:]))
    mantissa = f"{digits[0]}.{fraction}" if fraction else str(digits[0])
    return f"{'-' if sign else ''}{mantissa}e{exponent:+03d}"


def quote(text: str) -> str:
    """Return ``text`` in double quotes, bounded, with everything unprintable escaped."""
    return quote_whole(text if len(text) <= QUOTE_LIMIT else f"{text[:QUOTE_LIMIT]}...")


def quote_whole(text: str) -> str:
    """Return ``text`` as :func:`quote` does, but uncut: half a path names no file."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
