"""What is a NATS address, and what of one may be shown.

A password may hold any character, also those that end the user information of an address. So what
is no address as a whole is quoted nowhere: which part of it is the password cannot be told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_ADDRESS: Final = re.compile(
    r"(?:(?P<scheme>nats|tls)://)?"
    r"(?P<user>[^/?#\[\]\x00-\x1f\x7f]*@)?"
    r"(?P<host>[\w.-]+|\[[0-9a-f:.]+(?:%[\w.-]+)?\])"
    r"(?::(?P<port>\d{1,5}))?/?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Address:
    """One broker: ``url`` is what is connected to, ``shown`` is scheme, host and port of it."""

    url: str = field(repr=False)
    shown: str


def addresses(text: str) -> tuple[Address, ...] | int:
    """Return the comma-separated addresses of ``text``, or the place of the first that is none.

    Places count from one. In a list an address with user information needs its scheme: else it
    might be the rest of a password that holds a comma.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found: list[Address] = []
    for place, part in enumerate(parts, 1):
        address = _address(part, alone=len(parts) == 1)
        if address is None:
            return place
        found.append(address)
    return tuple(found)


def _address(text: str, *, alone: bool) -> Address | None:
    match = _ADDRESS.fullmatch(text)
    if match is None or not _is_readable(f"nats://{match['user'] or ''}{match['host']}"):
        return None
    if not 0 < int(match["port"] or 1) < 65_536:
        return None
    if match["user"] and not match["scheme"] and not alone:
        return None
    scheme = (match["scheme"] or "nats").lower()
    place = match["host"] + (f":{match['port']}" if match["port"] else "")
    shown = f"{scheme}://{place}" if match["scheme"] else place
    return Address(f"{scheme}://{match['user'] or ''}{place}", shown)


def _is_readable(url: str) -> bool:
    """Ask the parser of nats-py, which refuses signs that look like separators."""
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False
