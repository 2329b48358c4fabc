"""The forms of one terminal, from the whole to the barest: an accepted task ends in some terminal.

What a receiver would refuse is not sent, and a caller without a terminal waits for nothing. So an
answer that is too long is cut, and a field that breaks its rule is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a.blocks import trimmed, with_note
from fisk_ai.a2a.header import HeaderFields
from fisk_ai.a2a.messages import ErrorTerminal, Result, Terminal
from fisk_ai.errors import MessageTooLargeError, ProtocolError
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.text.trim import utf8_prefix

_log = logging.getLogger("fisk_ai.a2a")

_SIZES = (codec.MESSAGE_LIMIT, 524_288, 262_144, 131_072, 65_536, 4_096)
"""Bytes tried for a text: escapes can blow a byte up to six, and a broker may take less."""

_UNTOLD = "the task ended, and how it ended could not be told; see the log of the worker"


def forms(terminal: Terminal, header: HeaderFields) -> Iterator[Terminal]:
    """Yield what can be sent in place of ``terminal``, the best form first.

    ``header`` stamps a message of the same exchange. Each form passes its own checks; whoever
    sends one may still find it too large for the broker, and takes the next.
    """
    yield from _sound(terminal)
    yield from _sound(_without_facts(terminal, header))
    yield _bare(header)


def _sound(terminal: Terminal) -> Iterator[Terminal]:
    """Yield the sizes of ``terminal`` that are valid, none of one that breaks a rule."""
    told: str | None = None
    for size_bytes in _SIZES:
        try:
            form = _cut(terminal, size_bytes)
            codec.encode(structs.replace(form, sequence=2**63))
        except MessageTooLargeError:
            continue
        except (ProtocolError, ValueError, TypeError, AttributeError) as exc:
            _log.error("a terminal breaks a rule and is sent with less: %s", type(exc).__name__)
            return
        text = form.text if isinstance(form, Result) else form.error
        if text != told:
            yield form
        told = text


def _cut(terminal: Terminal, size_bytes: int) -> Terminal:
    if isinstance(terminal, ErrorTerminal):
        kept = utf8_prefix(trimmed(terminal.error)[0], size_bytes)
        return structs.replace(terminal, error=kept)
    text = clean_surrogates(terminal.text)
    kept = utf8_prefix(text, size_bytes)
    return structs.replace(terminal, text=text if kept == text else with_note(kept))


def _without_facts(terminal: Terminal, header: HeaderFields) -> Terminal:
    """Return ``terminal`` with nothing but its words."""
    if isinstance(terminal, Result):
        return Result(**header, stop_reason="end_turn", text=terminal.text)
    return ErrorTerminal(
        **header, error=terminal.error, code=terminal.code or "failed", stop_reason="error"
    )


def _bare(header: HeaderFields) -> Terminal:
    return ErrorTerminal(**header, error=_UNTOLD, code="failed", stop_reason="error")
