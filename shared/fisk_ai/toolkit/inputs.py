"""The arguments of a tool that is written in Python, read into the type it declares.

What does not fit is the model's to mend, so the message says where and what was expected.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fisk_ai.errors import ToolError
from fisk_ai.text import gojson

T = TypeVar("T")

NONE = b"{}"
"""The arguments of a call that brings none."""


def normalised(raw: bytes) -> bytes:
    """Return the arguments as an object's text where there are none at all."""
    text = raw.strip()
    return NONE if text in (b"", b"null") else text


def decode(tool: str, raw: bytes, kind: type[T]) -> T:
    """Read the arguments of a call of ``tool``; nothing and ``null`` stand for ``{}``.

    Raises:
        ToolError: they do not fit ``kind``; says where.
    """
    text = normalised(raw)
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as exc:
        raise ToolError(f"invalid {tool} input: {exc}") from exc
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(tool, text, kind)


def _tolerant(tool: str, text: bytes, kind: type[T]) -> T:
    """Read what the fast reader refuses as JSON: a lone surrogate becomes U+FFFD."""
    try:
        return msgspec.convert(gojson.loads(text), kind)
    except (ValueError, RecursionError) as exc:
        raise ToolError(f"invalid {tool} input: {exc}") from exc
