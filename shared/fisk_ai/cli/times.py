"""Stored times as a person's clock shows them, and ages as a person types them."""

from __future__ import annotations

import re
from datetime import datetime

from fisk_ai.errors import ConfigError, UsageError
from fisk_ai.text.sanitise import for_terminal

_FRACTION = re.compile(r"\.\d+")
_TEXT_LIMIT = 40
"""Code points of a time that is none, as a damaged journal may hold."""


def moment(text: str) -> datetime | None:
    """Return an RFC 3339 time to the second, ``None`` for anything else."""
    try:
        parsed = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else None


def local_time(text: str) -> str:
    """Return an RFC 3339 time as local ``YYYY-MM-DD HH:MM:SS``, other text in line form."""
    parsed = moment(text)
    if parsed is None:
        return for_terminal(text, _TEXT_LIMIT)
    return parsed.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def age_ns(text: str, flag: str) -> int:
    """Return the age a flag names, in nanoseconds; ``0`` without a unit is none, as ``5`` is none.

    What a flag removes by its age must not be what a forgotten unit makes of it.

    Raises:
        UsageError: no duration, one without a unit, or a negative one.
    """
    from fisk_ai.config.duration import parse_duration  # noqa: PLC0415 - loads the configuration

    if text == "0":
        raise UsageError(f"{flag}: 0 has no unit; write 0s where that is meant", key=flag)
    try:
        age_s = parse_duration(text)
    except ConfigError as exc:
        raise UsageError(f"{flag}: {exc}", key=flag) from exc
    if age_s < 0:
        raise UsageError(f"{flag} takes a duration that is not negative", key=flag)
    return int(age_s * 1_000_000_000)
