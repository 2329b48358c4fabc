"""A message as a stream keeps it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from fisk_ai.errors import BusError

_VERSION_LINE = "NATS/1.0"


@dataclass(frozen=True, slots=True)
class Stored:
    """One message of a stream; ``seq`` is the stream's number for it, ``time`` RFC 3339."""

    subject: str
    seq: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    time: str = ""


class _Message(msgspec.Struct):
    subject: str
    seq: int
    data: str = ""
    hdrs: str = ""
    time: str = ""


class StoredReply(msgspec.Struct):
    """How the API hands out one message."""

    message: _Message

    def stored(self) -> Stored:
        """Return it decoded.

        Raises:
            BusError: it is not encoded as the API says.
        """
        found = self.message
        try:
            body, head = (b64decode(part, validate=True) for part in (found.data, found.hdrs))
        except binascii.Error as exc:
            raise BusError(f"message {found.seq} cannot be read: {exc}") from exc
        return Stored(found.subject, found.seq, body, headers_of(head), found.time)


def headers_of(head: bytes) -> dict[str, str]:
    """Return the headers in ``head``; of a name given twice the first counts, as in Go.

    What is no header line is passed over: anybody who may publish can have written it.
    """
    lines = head.decode(errors="replace").split("\r\n")
    if not lines[0].startswith(_VERSION_LINE):
        return {}
    found: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name, value.strip())
    return found
