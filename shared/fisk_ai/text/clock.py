"""How a moment is written and read: RFC 3339, down to nanoseconds.

Times that were read stay text wherever they are kept, since their zone and their spelling belong to
whoever wrote them. Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

UNSET = "0001-01-01T00:00:00Z"
"""How a time that was never set is written."""

_NS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the zone is added as a number below
_FORM = re.compile(
    r"(?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<fraction>[0-9]+))?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)


def rfc3339(ns: int) -> str:
    """Write a moment, given in nanoseconds since 1970 UTC, without needless digits.

    Raises:
        ValueError: the moment is outside the years 1 to 9999.
    """
    seconds, fraction = divmod(ns, _NS)
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError as exc:
        raise ValueError(f"{ns} ns is outside the calendar") from exc
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    return f"{moment.isoformat()}{digits}Z"


def rfc3339_now() -> str:
    """Return the present moment in UTC."""
    return rfc3339(time.time_ns())


def rfc3339_now_us() -> str:
    """Return the present moment in UTC, to the microsecond: enough for a message."""
    return rfc3339(time.time_ns() // 1000 * 1000)


def rfc3339_ns(text: str) -> int:
    """Read a moment as nanoseconds since 1970 UTC; digits beyond nanoseconds are dropped.

    Raises:
        ValueError: ``text`` is no RFC 3339 time with a zone.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:64]!r} is no RFC 3339 time with a zone")
    moment = datetime.fromisoformat(match["moment"]) - _EPOCH
    fraction = int((match["fraction"] or "")[:9].ljust(9, "0"))
    seconds = moment.days * 86_400 + moment.seconds - _offset_s(match)
    return seconds * _NS + fraction


def _offset_s(match: re.Match[str]) -> int:
    if match["sign"] is None:
        return 0
    hours, minutes = int(match["hours"]), int(match["minutes"])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{match[0][:64]!r} has no such zone")
    offset = hours * 3600 + minutes * 60
    return offset if match["sign"] == "+" else -offset
