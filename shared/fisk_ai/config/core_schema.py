"""What a scalar means: YAML 1.2's core schema, in which ``no``, ``on`` and ``off`` are words."""

from __future__ import annotations

import re
from typing import Final

import yaml

NUMBER_LIMIT: Final = 64
"""Characters of one number; a longer one is text that lost its quotes."""

PREFIX: Final = "tag:yaml.org,2002:"
STR: Final = f"{PREFIX}str"
MAP: Final = f"{PREFIX}map"
SEQ: Final = f"{PREFIX}seq"
MERGE: Final = f"{PREFIX}merge"

_NULL: Final = f"{PREFIX}null"
_BOOL: Final = f"{PREFIX}bool"
_INT: Final = f"{PREFIX}int"
_FLOAT: Final = f"{PREFIX}float"
_PATTERNS: Final = {
    _NULL: r"~|null|Null|NULL|",
    _BOOL: r"true|True|TRUE|false|False|FALSE",
    _INT: r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    _FLOAT: r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    MERGE: r"<<",
}
_RESOLVERS: Final = {tag: re.compile(rf"(?:{pattern})\Z") for tag, pattern in _PATTERNS.items()}

Scalar = str | int | float | bool | None


class CoreLoader(yaml.CSafeLoader):
    """The C loader, resolving plain scalars by the core schema in place of YAML 1.1's rules."""


CoreLoader.yaml_implicit_resolvers = {None: [*_RESOLVERS.items()]}


def scalar(tag: str, text: str) -> Scalar:
    """Return the value of a scalar.

    Raises:
        ValueError: the tag is none of the core schema's, or the text is not what the tag says.
    """
    if tag == STR:
        return text
    if tag not in _RESOLVERS or tag == MERGE:
        raise ValueError("custom tags are not accepted: write plain values")
    if not _RESOLVERS[tag].match(text):
        raise ValueError(f"the value is not what its tag !!{tag.removeprefix(PREFIX)} says")
    if tag in (_INT, _FLOAT) and len(text) > NUMBER_LIMIT:
        raise ValueError(f"a number has over {NUMBER_LIMIT} characters: put text in quotes")
    return _convert(tag, text)


def _convert(tag: str, text: str) -> Scalar:
    if tag == _NULL:
        return None
    if tag == _BOOL:
        return text.lower() == "true"
    if tag == _FLOAT:
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return int(text, 0) if text.startswith(("0x", "0o")) else int(text)
