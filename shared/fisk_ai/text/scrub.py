"""Taking secrets out of what somebody else says: whoever was sent one may say it back.

Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"

_VISIBLE: Final = re.compile(r"[\x21-\x7e]")
_BETWEEN: Final = r"[^\x21-\x7e]*"


class Scrub:
    """Hides the secrets it was made with; the empty ones among them are none."""

    __slots__ = ("_spelled",)

    def __init__(self, *secrets: str) -> None:
        """Know ``secrets``, of which visible ASCII counts alone."""
        visible = {"".join(_VISIBLE.findall(secret)) for secret in secrets} - {""}
        longest_first = sorted(visible, key=len, reverse=True)
        spelled = "|".join(_BETWEEN.join(map(re.escape, secret)) for secret in longest_first)
        self._spelled = re.compile(spelled) if spelled else None

    def hide(self, text: str) -> str:
        """Return ``text`` with ``***`` for each secret, also for one with blanks in between."""
        return text if self._spelled is None else self._spelled.sub(HIDDEN, text)
