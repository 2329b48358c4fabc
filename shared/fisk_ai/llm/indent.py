"""JSON text spread over lines, with every string and number left in its own spelling."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_OPENING: Final = (b"{", b"[")
_CLOSING: Final = (b"}", b"]")
_STEP: Final = b"  "


def indented(raw: bytes) -> bytes:
    """Return valid JSON text indented by two; an empty object or list stays on its line."""
    written: list[bytes] = []
    depth = 0
    before = b""
    for match in _TOKEN.finditer(raw):
        token = match[0]
        if token in _CLOSING:
            depth -= 1
        if _begins_line(before, token):
            written.append(b"\n" + _STEP * depth)
        if token in _OPENING:
            depth += 1
        written.append(b": " if token == b":" else token)
        before = token
    return b"".join(written)


def _begins_line(before: bytes, token: bytes) -> bool:
    """Say whether a token stands on a new line: behind an opening or a comma, or as a closing."""
    if token in _CLOSING:
        return before not in _OPENING
    return before == b"," or before in _OPENING
