"""Standard error as commentary: when it cannot be written, the work goes on without it."""

from __future__ import annotations

import io
import os
from typing import TextIO


class Commentary(io.TextIOWrapper):
    """A text stream on descriptor 2 that never fails; after a failure it goes nowhere."""

    def __init__(self, encoding: str = "utf-8") -> None:
        """Write to descriptor 2 line by line; what ``encoding`` lacks is escaped."""
        super().__init__(
            io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
            encoding=encoding,
            errors="backslashreplace",
            line_buffering=True,
        )

    def write(self, text: str, /) -> int:
        """Write ``text``."""
        try:
            return super().write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Write out what waits."""
        try:
            super().flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Send what waits, and all that follows, to nothing."""
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 2)
        os.close(sink)
        super().flush()


def commentary(stream: TextIO | None) -> TextIO:
    """Return what takes the place of ``stream`` as standard error.

    One that somebody else put there, to read it, stays.
    """
    if stream is None:
        return Commentary()
    if type(stream) is not io.TextIOWrapper:
        return stream
    return Commentary(stream.encoding)
