"""How a length of time is written for people and peers.

The form is the one agents of either implementation print: ``1h0m5s``, ``1.5s``, ``50ms``. Reading
durations belongs to the configuration. Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

_NS = 1_000_000_000
_SMALL_UNITS = ((1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if rest == 0:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")


def go_duration(seconds: float) -> str:
    """Return ``seconds``, rounded to nanoseconds, such as ``5m0s``; zero is ``0s``."""
    amount = round(abs(seconds) * _NS)
    if amount == 0:
        return "0s"
    sign = "-" if seconds < 0 else ""
    if amount < _NS:
        unit, name = next(entry for entry in _SMALL_UNITS if amount >= entry[0])
        return f"{sign}{_decimal(amount, unit)}{name}"
    minutes, rest = divmod(amount, 60 * _NS)
    text = f"{_decimal(rest, _NS)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text
