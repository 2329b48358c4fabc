"""How one value of a record is read, written and judged: kinds of values, and keys that hold them.

A key a line lacks and a value of the wrong type are different faults. The second means that the
line was cut or damaged; the first, that whoever wrote it broke the contract. Rules:
``docs/reference/sessions.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from fisk_ai.text import clock
from fisk_ai.text.gojson import RawJSON, loads_string

INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)

NULL = RawJSON(b"null")
"""What a missing member reads as."""

_INTEGER = re.compile(rb"-?[0-9]{1,20}")


def _as_it_is(value: object) -> object:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of value: how it is read from JSON text, written as plain data, and when empty.

    ``schema`` says the same in JSON Schema, for the schemas that are published. ``null_counts``
    says that ``null`` spells the empty value even where a value is required.
    """

    read: Callable[[RawJSON], object]
    empty: object
    schema: Mapping[str, object]
    write: Callable[..., object] = _as_it_is
    null_counts: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """One key: required of every line, or always written, or left out when empty."""

    name: str
    kind: Kind
    required: bool = False
    kept: bool = False
    allowed: tuple[str, ...] = ()


def read_keys(keys: tuple[Key, ...], found: Mapping[str, RawJSON]) -> tuple[dict[str, object], str]:
    """Read the values of ``keys`` and name the first required one that is missing.

    Raises:
        ValueError: a value of the wrong type; the text names its key.
    """
    values: dict[str, object] = {}
    fault = ""
    for key in keys:
        raw = found.get(key.name, NULL)
        values[key.name] = key.kind.empty if raw == NULL else _read(key, raw)
        if (key.required or key.allowed) and not fault:
            fault = _fault_of(key, found.get(key.name), values[key.name])
    return values, fault


def write_keys(keys: tuple[Key, ...], holder: object) -> dict[str, object]:
    """Return the members of ``holder`` as plain data in the order of the bytes."""
    members: dict[str, object] = {}
    for key in keys:
        value = cast("object", getattr(holder, key.name))
        if key.required or key.kept or value != key.kind.empty:
            members[key.name] = key.kind.write(value)
    return members


def read_integer(raw: RawJSON, bounds: range) -> int:
    """Read a whole number spelled as one; ``null`` is zero, ``1.0`` and ``"1"`` are refused."""
    if raw == NULL:
        return 0
    if not _INTEGER.fullmatch(raw) or int(raw) not in bounds:
        raise ValueError(f"expected a whole number from {bounds[0]} to {bounds[-1]}")
    return int(raw)


def read_flag(raw: RawJSON) -> bool:
    """Read ``true`` or ``false``."""
    if raw not in (b"true", b"false"):
        raise ValueError("expected true or false")
    return raw == b"true"


def read_time(raw: RawJSON) -> str:
    """Read a time and keep its spelling."""
    text = loads_string(raw)
    clock.rfc3339_ns(text)
    return text


def _read(key: Key, raw: RawJSON) -> object:
    try:
        return key.kind.read(raw)
    except ValueError as exc:
        raise ValueError(f"{key.name}: {exc}") from exc


def _fault_of(key: Key, raw: RawJSON | None, value: object) -> str:
    if key.required and (raw is None or (raw == NULL and not key.kind.null_counts)):
        return f"{key.name} is missing"
    if key.allowed and value not in key.allowed:
        return f"{key.name} is not one of {' '.join(key.allowed)}"
    return ""
