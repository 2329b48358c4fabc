"""The JSON Schemas of the records, for whoever reads journals with other tools.

They are written out in the folder ``schemas`` beside this module and made from the tables in
``shapes``, which alone decide what is read and written. Envelopes are closed, bodies are open: a
later release may add keys. A test keeps both the same, and ``python -m fisk_ai.sessions.schema``
writes the files anew. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fisk_ai.published import Schema, by_name, opening, write
from fisk_ai.sessions import shapes
from fisk_ai.sessions.codec import NAMESPACE
from fisk_ai.sessions.kinds import Key

DIRECTORY = Path(__file__).parent / "schemas"
"""Where the written schemas are; they are part of the wheel."""

COMMON = "session.common.json"
"""The file of what several records share."""


def documents() -> dict[str, Schema]:
    """Return every schema by the name of its file."""
    return by_name([_common(), *(_record(segment) for segment in shapes.SHAPES)])


def _common() -> Schema:
    return {
        **opening(COMMON),
        "title": "What the records of a session share",
        "$defs": {"envelope": _body(shapes.ENVELOPE), "fingerprint": _body(shapes.FINGERPRINT)},
    }


def _record(segment: str) -> Schema:
    properties: Schema = {"protocol": {"const": NAMESPACE + segment}}
    if segment == "meta":
        properties["seq"] = {"const": 1}
    elif not shapes.SHAPES[segment].optional:
        properties["optional"] = {"const": False}
    properties[segment] = _body(shapes.SHAPES[segment].keys)
    return {
        **opening(f"session.{segment}.json"),
        "title": f"A {segment} record of a session",
        "$ref": f"{COMMON}#/$defs/envelope",
        "properties": properties,
        "required": [segment],
        "unevaluatedProperties": False,
    }


def _body(keys: Sequence[Key]) -> Schema:
    return {
        "type": "object",
        "required": [key.name for key in keys if key.required],
        "properties": {key.name: _property(key) for key in keys},
    }


def _property(key: Key) -> Mapping[str, object]:
    return {**key.kind.schema, "enum": list(key.allowed)} if key.allowed else key.kind.schema


if __name__ == "__main__":
    write(DIRECTORY, documents())
