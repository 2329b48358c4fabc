"""The forms of one terminal, from the whole to the barest: an accepted task ends in some terminal.

What a receiver would refuse is not sent, and a caller without a terminal waits for nothing. So a
text that is too long is cut to exactly the room there is, and a field that breaks its rule is left
out.
"""

from __future__ import annotations

import logging
from bisect import bisect_right

from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a.blocks import TEXT_LIMIT, TRIM_NOTE, with_note
from fisk_ai.a2a.header import HeaderFields
from fisk_ai.a2a.messages import ErrorTerminal, Result, Terminal
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.text.trim import closing_fence, utf8_prefix

_log = logging.getLogger("fisk_ai.a2a")

_UNTOLD = "the task ended, and how it ended could not be told; see the log of the worker"


def forms(terminal: Terminal, header: HeaderFields) -> tuple[Terminal, ...]:
    """Return what may be sent in place of ``terminal``, the best form first.

    ``header`` stamps a message of the same exchange.
    """
    bare = ErrorTerminal(**header, error=_UNTOLD, code="failed", stop_reason="error")
    return terminal, _without_facts(terminal, header), bare


def fitted(terminal: Terminal, *, sequence: int, room_bytes: int) -> Terminal | None:
    """Return ``terminal`` numbered, with as much of its text as a body of ``room_bytes`` holds.

    ``room_bytes`` is at most the protocol's limit. ``None`` when the rest of it has no room, or
    breaks a rule, which the log says.
    """
    try:
        form = _cut(structs.replace(terminal, sequence=sequence), room_bytes)
        if form is not None:
            codec.encode(form)
    except (ProtocolError, ValueError, TypeError, AttributeError) as exc:
        _log.error("a terminal breaks a rule and is sent with less: %s", type(exc).__name__)
        return None
    return form


def _cut(terminal: Terminal, room_bytes: int) -> Terminal | None:
    told = terminal.text if isinstance(terminal, Result) else terminal.error
    text = clean_surrogates(told)
    kept = text if isinstance(terminal, Result) else utf8_prefix(text, TEXT_LIMIT)
    if kept == text:
        whole = _saying(terminal, text)
        if codec.size_bytes(whole) <= room_bytes:
            return whole
    spare_bytes = room_bytes - codec.size_bytes(_saying(terminal, TRIM_NOTE))
    if spare_bytes < 0:
        return None
    return _saying(terminal, with_note(_beginning(kept, spare_bytes)))


def _saying(terminal: Terminal, text: str) -> Terminal:
    if isinstance(terminal, Result):
        return structs.replace(terminal, text=text)
    return structs.replace(terminal, error=text)


def _beginning(text: str, room_bytes: int) -> str:
    """Return the longest beginning that has room together with what ends its block of code.

    A shorter beginning may stand in a block with a longer fence, so more is set aside each time.
    """
    aside_bytes = 0
    while True:
        kept = _prefix(text, room_bytes - aside_bytes)
        needed_bytes = codec.written_bytes(closing_fence(kept))
        if needed_bytes <= aside_bytes:
            return kept
        aside_bytes = max(needed_bytes, 2 * aside_bytes)


def _prefix(text: str, room_bytes: int) -> str:
    """Return the longest beginning that takes at most ``room_bytes`` of a body."""
    most = min(len(text), max(room_bytes, 0))
    ends = range(1, most + 1)
    return text[: bisect_right(ends, room_bytes, key=lambda end: codec.written_bytes(text[:end]))]


def _without_facts(terminal: Terminal, header: HeaderFields) -> Terminal:
    """Return ``terminal`` with nothing but its words."""
    if isinstance(terminal, Result):
        return Result(**header, stop_reason="end_turn", text=terminal.text)
    return ErrorTerminal(
        **header, error=terminal.error, code=terminal.code or "failed", stop_reason="error"
    )
