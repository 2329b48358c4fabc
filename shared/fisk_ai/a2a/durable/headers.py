"""The headers that turns and their replies carry: written in one way, read strictly.

Texts of other systems travel percent-encoded, since a header holds no line break and a subject no
blank. Rules: ``docs/reference/turns.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from fisk_ai.a2a.header import FINAL_HEADER, SEQUENCE_MAX
from fisk_ai.bus.stored import Stored
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import clean_surrogates

BINDING: Final = "Fisk-AI-Binding"
THREAD: Final = "Fisk-AI-Thread"
SESSION: Final = "Fisk-AI-Session"
CALLER: Final = "Fisk-AI-Caller"
TRY: Final = "Fisk-AI-Try"
JOURNAL: Final = "Fisk-AI-Journal"
REASON: Final = "Fisk-AI-Reason"
FINAL: Final = FINAL_HEADER

VERSION: Final = 1
"""The number of this binding; a worker leaves newer ones to newer workers."""

TEXT_LIMIT: Final = 1_024
"""Characters of an encoded text: a thread of three ids and a caller are far shorter."""

FIELDS_LIMIT: Final = 8
"""Parts of a thread's name."""

_ENCODED: Final = re.compile(r"(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+")
_NUMBER: Final = re.compile(r"\d{1,20}", re.ASCII)


def encoded(text: str) -> str:
    """Return a text as a header carries it: unreserved characters as they are, the rest in hex."""
    return quote(clean_surrogates(text), safe="")


def decoded(name: str, text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return the text that the header ``name`` carries.

    Raises:
        ProtocolError: it is empty, too long, or not encoded so.
    """
    if len(text) > limit or not _ENCODED.fullmatch(text):
        raise ProtocolError(
            f"the header {name} is no percent-encoded text of at most {limit} characters"
        )
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as exc:
        raise ProtocolError(f"the header {name} is no text in UTF-8") from exc


def encoded_thread(thread: tuple[str, ...]) -> str:
    """Return the parts of a thread's name as one header."""
    return encoded("\0".join(thread))


def decoded_thread(text: str) -> tuple[str, ...]:
    """Return the parts of a thread's name.

    Raises:
        ProtocolError: as :func:`decoded`; or a part is empty, or there are too many.
    """
    thread = tuple(decoded(THREAD, text).split("\0"))
    if len(thread) > FIELDS_LIMIT or not all(thread):
        raise ProtocolError(
            f"the header {THREAD} names 1 to {FIELDS_LIMIT} parts, and none of them is empty"
        )
    return thread


def number(headers: Mapping[str, str], name: str) -> int:
    """Return the whole number in the header ``name``, 0 where it is not given.

    Raises:
        ProtocolError: it is none.
    """
    text = headers.get(name, "0")
    if not _NUMBER.fullmatch(text) or int(text) > SEQUENCE_MAX:
        raise ProtocolError(f"the header {name} is no whole number")
    return int(text)


def is_final(message: Stored) -> bool:
    """Say whether a stored reply ends its set."""
    return bool(message.headers.get(FINAL))
