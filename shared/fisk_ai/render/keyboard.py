"""Lines typed at a terminal, read without blocking the event loop and given up at any moment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from typing import TextIO

from fisk_ai.text.trim import AROUND_BYTES, first_bytes

LINE_LIMIT_BYTES = 65_536
"""A typed line beyond this is cut: nobody types it, and a paste must not fill memory."""

_READ_BYTES = LINE_LIMIT_BYTES + AROUND_BYTES


class Keyboard:
    """Reads whole lines from a terminal; one reader at a time."""

    def __init__(self, stream: TextIO) -> None:
        """Borrow ``stream``; nothing is read before the first question."""
        self.stream = stream
        self._typed = bytearray()

    def is_terminal(self) -> bool:
        """Say whether a person can type here."""
        return not self.stream.closed and self.stream.isatty()

    def is_gone(self) -> bool:
        """Say whether the terminal hung up; an input that was closed by Ctrl-D is still there."""
        try:
            termios.tcgetattr(self.stream.fileno())
        except (termios.error, OSError, ValueError):
            return True
        return False

    def forget(self) -> None:
        """Drop what was typed before a question was on the screen: it cannot be its answer."""
        self._typed.clear()
        with contextlib.suppress(termios.error):  # the terminal went away: reading will say so
            termios.tcflush(self.stream.fileno(), termios.TCIFLUSH)

    async def line(self) -> str:
        """Return the next line without its end; cancelling leaves the terminal as it was.

        Raises:
            EOFError: the input was closed.
        """
        while b"\n" not in self._typed:
            chunk = await self._chunk()
            if not chunk:
                raise EOFError
            self._typed += chunk[: _READ_BYTES - len(self._typed)]
            if len(self._typed) >= _READ_BYTES:
                self._typed += b"\n"
        line, _, rest = bytes(self._typed).partition(b"\n")
        self._typed = bytearray(rest)
        kept = first_bytes(line, LINE_LIMIT_BYTES)
        return kept.decode("utf-8", "replace").rstrip("\r")

    async def _chunk(self) -> bytes:
        loop = asyncio.get_running_loop()
        descriptor = self.stream.fileno()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(descriptor, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
        try:
            return os.read(descriptor, 4096)
        except OSError:  # the terminal went away, which reads as EIO
            return b""


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
