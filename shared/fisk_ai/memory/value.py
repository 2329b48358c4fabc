"""How one memory is written down: a YAML header with its description, then the body verbatim.

The same bytes in every backend, so that a file copied into a bucket reads the same. Whatever does
not carry a header that can be read is all body: files may be written by hand. Rules:
``docs/reference/memory.md``.
"""

from __future__ import annotations

from typing import Final

import yaml

from fisk_ai.memory.store import Memory
from fisk_ai.text.sanitise import clean_surrogates

_OPENING: Final = b"---\n"
_CLOSING: Final = b"\n---\n"
_CLOSING_AT_END: Final = b"\n---"
_DESCRIPTION: Final = "description"
_NULLS: Final = ("", "~", "null", "Null", "NULL")
_ONE_LINE: Final = 1 << 30
"""The emitter folds long text otherwise, and a header is one line."""

# The reader written in C where there is one: a listing reads every header.
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def dumps(description: str, content: str) -> bytes:
    """Return the stored form of a normalised description and a content."""
    header = yaml.safe_dump(  # pyright: ignore[reportUnknownMemberType] - its stub leaves a type out
        {_DESCRIPTION: description}, allow_unicode=True, width=_ONE_LINE
    )
    return f"---\n{header}---\n\n{clean_surrogates(content)}".encode()


def loads(data: bytes) -> Memory:
    """Read a stored value; without a header that can be read, all of it is content.

    Bytes that are no UTF-8 become U+FFFD.
    """
    header, body = _split(data)
    description = _description(header) if header else None
    if description is None:
        return Memory("", data.decode(errors="replace"))
    return Memory(description, body.removeprefix(b"\n").decode(errors="replace"))


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Return the header and what follows its first closing; an empty header where there is none."""
    if not data.startswith(_OPENING):
        return b"", data
    rest = data[len(_OPENING) :]
    header, closing, body = rest.partition(_CLOSING)
    if closing:
        return header, body
    if rest.endswith(_CLOSING_AT_END):
        return rest.removesuffix(_CLOSING_AT_END), b""
    return b"", data


def _description(header: bytes) -> str | None:
    """Return the header's description as it is written there; ``None`` when it is no header."""
    try:
        root = yaml.compose(header, Loader=_Loader)
    except (yaml.YAMLError, ValueError):  # ValueError: bytes that are no text
        return None
    if not isinstance(root, yaml.MappingNode):
        return None
    found = ""
    for key, value in root.value:
        if not isinstance(key, yaml.ScalarNode) or key.value != _DESCRIPTION:
            continue
        if not isinstance(value, yaml.ScalarNode):
            return None
        found = _text(value)
    return found


def _text(node: yaml.ScalarNode) -> str:
    """Return a scalar as it is written: no type is read into it but that of nothing."""
    if not node.style and node.value in _NULLS:
        return ""
    return str(node.value)
