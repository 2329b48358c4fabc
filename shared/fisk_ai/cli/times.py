"""Stored times as a person's clock shows them."""

from __future__ import annotations

import re
from datetime import datetime

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
