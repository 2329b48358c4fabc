"""What every message carries, the words it may use, and how its header is stamped.

Identities, tags and tokens end up inside subjects and session ids, so every one of them is held
to one character set here. Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, ClassVar, Literal, NotRequired, TypedDict

from msgspec import UNSET, Meta, Struct, UnsetType

from fisk_ai.text.clock import rfc3339_now_us
from fisk_ai.text.ids import ksuid

NAMESPACE = "io.choria.fisk-ai.v1"
FINAL_HEADER = "Fisk-AI-Stream-Final"
"""Set to ``true`` on the one message that ends a reply set."""

SEQUENCE_MAX = 2**64 - 1
REQUEST_MAX = 64
TOKEN_MAX = 128
VALUE_MAX = 4096
"""Code points of a free text answer: it reaches a model and a terminal."""

Word = Annotated[str, Meta(pattern=r"\A[a-zA-Z0-9_-]+\Z")]
RequestTag = Annotated[str, Meta(pattern=r"\A[a-zA-Z0-9_-]+\Z", max_length=REQUEST_MAX)]
Token = Annotated[str, Meta(pattern=r"\A[a-zA-Z0-9_-]+\Z", max_length=TOKEN_MAX)]
SessionId = Annotated[str, Meta(pattern=r"\A[a-zA-Z0-9][a-zA-Z0-9_-]*\Z", max_length=128)]
ToolUseId = Annotated[str, Meta(max_length=256)]
Count = Annotated[int, Meta(ge=0)]
Sequence = Annotated[int, Meta(ge=0, extra_json_schema={"maximum": SEQUENCE_MAX})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
StopReason = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]*\Z", min_length=1, max_length=64)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Value = Annotated[str, Meta(max_length=VALUE_MAX)]
ChoiceWord = Literal["no", "once", "always"]

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII
)


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object inside a message; a field at its zero value is absent."""


class Sender(Part, frozen=True, kw_only=True):
    """Who claims to speak: an identity, and which of its processes."""

    name: Word
    instance: Word = ""


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="protocol"):
    """The fields of every message.

    ``request`` names the exchange and goes into subjects; ``conversation`` only correlates and
    names nothing; ``sequence`` is 0 outside a reply set. Of the fields in ``ONE_OF``, where there
    are any, a message carries exactly one.
    """

    REFUSES: ClassVar[frozenset[str]] = frozenset()
    ONE_OF: ClassVar[tuple[str, ...]] = ()

    id: Word
    request: RequestTag
    conversation: Word
    sequence: Sequence
    time: Time
    sender: Sender
    recipient: Sender | UnsetType = UNSET
    parent: str = ""
    must_understand: bool = False
    traceparent: str = ""

    def __post_init__(self) -> None:
        """Check what a type cannot say.

        Raises:
            ValueError: a sequence beyond 64 bits, a time that is none, or not exactly one of the
                fields that exclude each other.
        """
        if self.sequence > SEQUENCE_MAX:
            raise ValueError("`sequence` does not fit 64 bits")
        require_time(self.time)
        if self.ONE_OF and sum(bool(getattr(self, name)) for name in self.ONE_OF) != 1:
            raise ValueError(f"exactly one of `{'`, `'.join(self.ONE_OF)}` is required")


class HeaderFields(TypedDict):
    """The arguments that stamp a message, to be spread into its constructor."""

    id: str
    request: str
    conversation: str
    sequence: int
    time: str
    sender: Sender
    recipient: NotRequired[Sender]


def require_time(text: str) -> None:
    """Refuse a text that is no RFC 3339 time.

    Raises:
        ValueError: a date alone, a time without a zone, or a date the calendar does not have.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("`time` is no RFC 3339 time")
    datetime.fromisoformat(match[1])


def request_header(
    sender: Sender, identity: str, *, request: str = "", conversation: str = ""
) -> HeaderFields:
    """Stamp a request, cancel or answer; what is not given is minted."""
    return {
        "id": ksuid(),
        "request": request or ksuid(),
        "conversation": conversation or ksuid(),
        "sequence": 0,
        "time": rfc3339_now_us(),
        "sender": sender,
        "recipient": Sender(name=identity),
    }


def reply_header(to: Header, identity: str, sequence: int = 0) -> HeaderFields:
    """Stamp a reply to ``to``; ``sequence`` is its number within a reply set."""
    return {
        "id": ksuid(),
        "request": to.request,
        "conversation": to.conversation,
        "sequence": sequence,
        "time": rfc3339_now_us(),
        "sender": Sender(name=identity),
        "recipient": Sender(name=to.sender.name),
    }
