"""Standard output: the place of a result, which says so itself when it cannot be written."""

from __future__ import annotations

import io
from typing import NoReturn, TextIO

from fisk_ai.cli.plain import PLAIN

NAME = "standard output"


class Result(io.TextIOWrapper):
    """A text stream whose failures name it, as those of a file name the file.

    A reader that went away is no failure of the place, and stays a ``BrokenPipeError``.
    """

    def write(self, text: str, /) -> int:
        """Write ``text``."""
        try:
            return super().write(text)
        except OSError as exc:
            _named(exc)

    def flush(self) -> None:
        """Write out what waits."""
        try:
            super().flush()
        except OSError as exc:
            _named(exc)


def result(stream: TextIO | None) -> TextIO:
    """Return what takes the place of ``stream`` as standard output; no text fails to be encoded.

    One that somebody else put there, to read it, stays.
    """
    if stream is None:
        return Result(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), "utf-8", PLAIN)
    if type(stream) is not io.TextIOWrapper:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=PLAIN)
        return stream
    encoding, lines, through = stream.encoding, stream.line_buffering, stream.write_through
    stream.flush()
    return Result(stream.detach(), encoding, PLAIN, line_buffering=lines, write_through=through)


def _named(exc: OSError) -> NoReturn:
    if isinstance(exc, BrokenPipeError):
        raise exc
    raise OSError(exc.errno, exc.strerror, NAME) from exc
