"""How a value of the wrong shape is refused: the first in the file, in words, with its place."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from typing import Final, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fisk_ai.config.document import Document, KeyPath, Position, key_name, refusal
from fisk_ai.config.model import Config
from fisk_ai.config.scalar import quote
from fisk_ai.config.standing import CONSUMED, HOLDS
from fisk_ai.errors import ConfigError

_NEAR: Final = 0.7
"""Share of letters two keys must have in common before one is suggested for the other."""

_FEW: Final = 4
"""Keys that one message suggests; more would be a list to search."""

_RENAMED: Final[dict[KeyPath, str]] = {
    ("mcp_servers",): "mcp_clients",
    ("expose", "agent", "agent_to_agent"): "expose.agent.a2a.serve_tools",
}
"""Names that files of earlier implementations still have."""

_IN_OPTIONS: Final = ("harness.sessions.options.directory", "llm.options.script")
"""Keys below mappings that are handed on as they are; they are often written a block too high."""

_NAMES: Final = (
    (str, "text"),
    (bool, "true or false"),
    (int, "a number"),
    (float, "a fraction"),
    (list, "a list"),
)
_EXPECTED: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
}


def unmarshal(document: Document) -> Config:
    """Return the document as a configuration, neither prepared nor validated.

    Raises:
        ConfigError: an unknown key or a wrong type anywhere; the earliest in the file is named.
    """
    try:
        return Config.model_validate(document.data)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False)
        raise _first(document, errors) from exc


def known_keys(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[str]:
    """Yield the path of every key that has no keys below it; list entries count as below."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        block = _block_in(field.annotation)
        if block is None:
            yield path
        else:
            yield from known_keys(block, f"{path}.")


def _block_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, types.UnionType):
        return next(filter(None, map(_block_in, get_args(annotation))), None)
    return None


def _first(document: Document, errors: list[ErrorDetails]) -> ConfigError:
    def place(error: ErrorDetails) -> Position:
        return document.position(error["loc"])

    error = min(errors, key=place)
    reason = _reason(error["type"], error["loc"], error["input"])
    refused = refusal(document.source, place(error), reason)
    refused.key = key_name(error["loc"])
    return refused


def _reason(kind: str, path: KeyPath, value: object) -> str:
    if kind == "extra_forbidden":
        return _unknown(path)
    if kind in ("greater_than_equal", "less_than_equal"):
        return f"{quote(key_name(path))} must be a whole number of at most 64 bits"
    expected = _EXPECTED.get(kind, "a value of another type")
    return f"{quote(key_name(path))} must be {expected}, not {_kind_of(value)}"


def _kind_of(value: object) -> str:
    """Name the type alone: the value may be a credential in the wrong place."""
    if value is None:
        return "nothing"
    return next((name for kind, name in _NAMES if isinstance(value, kind)), "a mapping")


def _unknown(path: KeyPath) -> str:
    near = " or ".join(quote(key) for key in _nearest(path))
    hint = f"; did you mean {near}?" if near else ""
    return f"unknown key {quote(key_name(path))}{hint}"


def _nearest(path: KeyPath) -> list[str]:
    """Return the keys meant: this word in another block, or a sibling spelled alike.

    A key that works is nearer than one spelled alike, and that nearer than one not built yet.
    Of several keys with this word, those that share the longest path with it are nearest.
    """
    if path in _RENAMED:
        return [_RENAMED[path]]
    written = str(path[-1])[:64]
    elsewhere = [key for key in _every_key() if key.rpartition(".")[2] == written]
    working = [key for key in elsewhere if _works(key)]
    found = _closest(working, path) or _spelled_alike(path, written) or _closest(elsewhere, path)
    return found if len(found) <= _FEW else []


def _closest(keys: list[str], path: KeyPath) -> list[str]:
    """Return those that share most of their blocks with ``path``."""
    blocks = [part for part in path[:-1] if isinstance(part, str)]

    def shared(key: str) -> int:
        pairs = zip(key.split("."), blocks, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

    most = max(map(shared, keys), default=0)
    return [key for key in keys if shared(key) == most]


def _spelled_alike(path: KeyPath, written: str) -> list[str]:
    import difflib  # noqa: PLC0415 - for a mistyped key alone

    block = ".".join(part for part in path[:-1] if isinstance(part, str))
    siblings = filter(None, (_child(key, block) for key in _every_key()))
    close = difflib.get_close_matches(written, siblings, n=1, cutoff=_NEAR)
    return [f"{key_name(path[:-1])}.{name}".removeprefix(".") for name in close]


def _works(key: str) -> bool:
    """Say whether a key, or one below it, does something in this release."""
    working = (*CONSUMED, *HOLDS, *_IN_OPTIONS)
    return any(f"{known}.".startswith(f"{key}.") for known in working)


def _child(key: str, block: str) -> str:
    head, _, name = key.rpartition(".")
    return name if head == block else ""


def _every_key() -> Iterator[str]:
    """Yield blocks and leaves alike."""
    seen: set[str] = set()
    for leaf in (*known_keys(), *_IN_OPTIONS):
        parts = leaf.split(".")
        for end in range(1, len(parts) + 1):
            key = ".".join(parts[:end])
            if key not in seen:
                seen.add(key)
                yield key
