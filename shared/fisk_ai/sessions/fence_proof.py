"""Whether the server keeps the fence of sessions, proven by a record that it has to refuse.

A server that does not know over which subjects a fence counts, compares with the one subject that
is published to, and would let two writers of a session record side by side or refuse every second
record. What it calls its version says nothing about that. So something is published behind a fence
that another message has passed already; a server that stores it is not used. The message that has
passed stays: one for each stream, on a subject that is no session's.
Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import secrets
from typing import Final

from fisk_ai.bus.jetstream import EXPECTED_FILTER, EXPECTED_SEQUENCE, FENCED, JetStream
from fisk_ai.errors import StreamError

_PROOF: Final = "_fence"
"""Stands where a session's id would; no id begins with it."""


async def keeps_fence(js: JetStream, prefix: str) -> bool:
    """Say whether the server refuses what lies behind a fence on subjects under ``prefix``.

    Raises:
        BusError: nobody said so.
    """
    stored_once = await _stored(js, prefix)
    return not (stored_once and await _stored(js, prefix))


async def _stored(js: JetStream, prefix: str) -> bool:
    """Publish as if nothing had been published here before, and say whether it was stored."""
    fence = {EXPECTED_SEQUENCE: "0", EXPECTED_FILTER: f"{prefix}.{_PROOF}.>"}
    try:
        await js.publish(f"{prefix}.{_PROOF}.{secrets.token_hex(8)}", b"", headers=fence)
    except StreamError as exc:
        if exc.err_code not in FENCED:
            raise
        return False
    return True
