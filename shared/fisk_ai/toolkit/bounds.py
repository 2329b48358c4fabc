"""How much of one result goes on: to hooks, the scanner, the model, the journal and the bus.

A command's output is cut while it is read. What a function returns is looked at here, whoever
wrote the function. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from typing import Final

from fisk_ai.text.ring import MARKER

RESULT_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a result that is passed on whole.

The largest file ``read_file`` gives by default, as base64 or as text of short lines, fits twice
over, and half of what can be scanned for personal data is not reached. No model reads more in one
prompt, so a longer result was not meant for one.
"""

KEPT_BYTES: Final = 32_000
"""Bytes kept of each end of a longer one: nearly as much as of a command's output, so that both
ends and the marker fit in one event of 65 536 bytes and a caller sees what the model does."""


def bounded(text: str) -> str:
    """Return ``text``, or its two ends around the marker when it has over the limit's bytes.

    It holds no surrogates. The cuts never go through a character.
    """
    if _fits(text):
        return text
    head = text[:KEPT_BYTES].encode()[:KEPT_BYTES]
    tail = text[-KEPT_BYTES:].encode()[-KEPT_BYTES:]
    return "".join(part.decode(errors="ignore") for part in (head, MARKER, tail))


def _fits(text: str) -> bool:
    """Say whether the limit holds; a character has one to four bytes."""
    if len(text) > RESULT_LIMIT_BYTES:
        return False
    return 4 * len(text) <= RESULT_LIMIT_BYTES or len(text.encode()) <= RESULT_LIMIT_BYTES
