"""What counts as a length of time in ``agent.yaml`` and in flags.

``90s``, ``1h30m``, ``2d`` and the like; the grammar is in ``docs/reference/configuration.md``.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

from fisk_ai.errors import ConfigError

TEXT_LIMIT: Final = 128
"""Code points of one duration: a sum of every unit fits, a megabyte of digits does not."""

_NS_PER_S: Final = 1_000_000_000
_NS_PER_H: Final = 3600 * _NS_PER_S
_SHORT_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": _NS_PER_S,
    "m": 60 * _NS_PER_S,
    "h": _NS_PER_H,
}
_LONG_HOURS: Final = {"d": 24, "D": 24, "w": 168, "W": 168, "M": 720, "Y": 8760, "y": 8760}
_RANGE_NS: Final = 2**63
"""A peer written in Go keeps a duration in a signed 64-bit number of nanoseconds."""

_WHOLE: Final = re.compile(r"([+-]?)((?:[0-9.]+[^\W\d_]+)+)")
_PART: Final = re.compile(r"([0-9.]+)([^\W\d_]+)")


def parse_duration(text: str) -> float:
    """Return the seconds ``text`` means; a leading ``-`` negates the whole sum.

    Days and longer count whole hours per part: ``1.5d`` is 36 hours, ``0.01d`` none.

    Raises:
        ConfigError: ``text`` is no duration; the message says why, the caller adds the key.
    """
    if text == "0":
        return 0.0
    trimmed = text.strip()
    if not trimmed:
        raise ConfigError("invalid duration: it is empty")
    match = _WHOLE.fullmatch(trimmed) if len(trimmed) <= TEXT_LIMIT else None
    if match is None:
        raise ConfigError("invalid duration: write numbers with units, such as 90s or 1h30m")
    total_ns = sum(_part_ns(number, unit) for number, unit in _PART.findall(match[2]))
    if total_ns >= _RANGE_NS:
        raise ConfigError("invalid duration: it is longer than 292 years")
    return (-total_ns if match[1] == "-" else total_ns) / _NS_PER_S


def _part_ns(number: str, unit: str) -> int:
    try:
        amount = Decimal(number)
    except InvalidOperation as exc:
        raise ConfigError(f"invalid duration: {number} is not a number") from exc
    if unit in _LONG_HOURS:
        return int(amount * _LONG_HOURS[unit]) * _NS_PER_H
    if unit in _SHORT_NS:
        return int(amount * _SHORT_NS[unit])
    raise ConfigError(f"invalid duration: invalid unit {unit}")
