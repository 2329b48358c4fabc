"""What processes under a supervisor print, line by line, each with the name of who printed it.

A record of JSON names its service itself and stays what it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Final

from fisk_ai.text.sanitise import for_display
from fisk_ai.text.trim import AROUND_BYTES, first_bytes

LINE_LIMIT_BYTES: Final = 65_536
"""A longer line is told in pieces, so that none holds up the others."""

_CHUNK_BYTES: Final = 65_536


class Voice:
    """Says what the supervisor itself has to say, as text for a person or as records."""

    def __init__(self, *, text: bool) -> None:
        self._text = text

    def say(self, sentence: str, **facts: object) -> None:
        """Print one sentence; a person reads it alone, a record has ``facts`` beside it."""
        if self._text:
            print(for_display(sentence), file=sys.stderr)
            return
        record = {"service": "serve", "level": "info", "event": sentence, **facts}
        print(json.dumps(record, default=str), file=sys.stderr)


async def relay(descriptor: int, name: str) -> None:
    """Print what comes through a pipe until its other end is closed; ``descriptor`` is closed."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    left = b""
    try:
        while chunk := await reader.read(_CHUNK_BYTES):
            *lines, left = (left + chunk).split(b"\n")
            if len(left) >= LINE_LIMIT_BYTES + AROUND_BYTES:
                piece = first_bytes(left, LINE_LIMIT_BYTES)
                lines, left = [*lines, piece], left[len(piece) :]
            _print(lines, name)
        _print([left] if left else [], name)
    finally:
        transport.close()


def _print(lines: list[bytes], name: str) -> None:
    for raw in lines:
        line = for_display(raw.decode("utf-8", "replace"))
        print(line if line.startswith("{") else f"{name} | {line}", file=sys.stderr)
