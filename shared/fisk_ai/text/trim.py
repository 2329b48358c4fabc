"""Cutting text, and bytes that will be text, without cutting a character or leaving code open.

Rules: ``docs/reference/text.md``.
"""

from __future__ import annotations

import re

from fisk_ai.text.sanitise import clean_surrogates

_FENCE = re.compile(
    r"^(?P<lead>(?:[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t])*+)(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)",
    re.MULTILINE,
)
_LONGEST_BYTES = 4
AROUND_BYTES = _LONGEST_BYTES - 1
"""How far a character of UTF-8 may reach beyond a cut through it, to either side."""

_DEEPER = 4
"""Blanks by which a fence inside a block of code is taken for code."""


def utf8_prefix(s: str, max_bytes: int) -> str:
    """Return the longest prefix of at most ``max_bytes`` UTF-8 bytes."""
    if max_bytes <= 0:
        return ""
    encoded = clean_surrogates(s).encode()
    return encoded[:max_bytes].decode(errors="ignore")


def _around(data: bytes, at: int) -> tuple[int, int]:
    """Return where the character begins and ends that a cut of ``data`` at ``at`` would go through.

    Both are ``at`` where it goes through none, or through bytes that are not UTF-8.
    ``AROUND_BYTES`` on each side of the cut are looked at; a stream has to have them at hand.
    """
    for start in range(max(0, at - AROUND_BYTES), at):
        for end in range(at + 1, min(start + _LONGEST_BYTES, len(data)) + 1):
            if _is_one(data[start:end]):
                return start, end
    return at, at


def last_bytes(data: bytes, size: int) -> bytes:
    """Return the last ``size`` bytes of ``data``, or up to three fewer that begin a character."""
    return data[_around(data, max(0, len(data) - size))[1] :]


def first_bytes(data: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes of ``data``, or up to three fewer that end a character."""
    return data[: _around(data, size)[0]]


def _is_one(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def closing_fence(s: str) -> str:
    """Return what must follow Markdown ``s`` to end the block of code that is open at its end.

    Empty when none is open. What follows a cut would else be read as part of that code. Fences in
    block quotes are left alone: the next line without a ``>`` ends them.
    """
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(s):
        if opened is None:
            opened = match if _opens(match) else None
        elif _closes(match, opened):
            opened = None
    if opened is None:
        return ""
    start = "" if s.endswith("\n") else "\n"
    return start + _indent(opened) + opened["fence"]


def _opens(match: re.Match[str]) -> bool:
    return match["fence"].startswith("~") or "`" not in match["info"]


def _closes(match: re.Match[str], opened: re.Match[str]) -> bool:
    lead = match["lead"]
    return (
        match["fence"].startswith(opened["fence"])
        and not match["info"].strip(" \t")
        and not lead.strip(" \t")
        and len(lead) < len(opened["lead"]) + _DEEPER
    )


def _indent(opened: re.Match[str]) -> str:
    """Return the blanks that keep the closing fence in the list item of the opening one."""
    return re.sub(r"[^\t]", " ", opened["lead"])
