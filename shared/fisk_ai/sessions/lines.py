"""A journal file as records: what a crash may leave at its end, and what is damage.

A process that dies while it writes leaves a last line that cannot be read; it was never durable and
is dropped. The same anywhere else means that the file was changed by something else, and nothing
behind it can be trusted. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from fisk_ai.errors import CorruptError
from fisk_ai.sessions import codec
from fisk_ai.sessions.records import Record


@dataclass(frozen=True, slots=True)
class Parsed:
    """The records of a file, and how many of its bytes hold them."""

    records: tuple[Record, ...]
    length_bytes: int


def parse(data: bytes, name: str) -> Parsed:
    """Read every record of a file called ``name``; a torn last line is left out.

    Raises:
        CorruptError: a line in the middle is no record; names the file and the line.
    """
    last = data.count(b"\n") + (not data.endswith(b"\n"))
    records: list[Record] = []
    for number, line in enumerate(io.BytesIO(data), start=1):  # one line at a time is copied
        if not line.strip():
            continue
        try:
            records.append(codec.decode(line))
        except CorruptError as exc:
            if number == last:
                return Parsed(tuple(records), len(data) - len(line))
            raise CorruptError(
                f"{name} line {number}: {exc}; restore the file or remove it"
            ) from exc
    return Parsed(tuple(records), len(data))
