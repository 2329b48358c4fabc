"""The JSON Schemas of the records, for whoever reads journals with other tools.

They are written out in the folder ``schemas`` beside this module and made from the tables in
``shapes``, which alone decide what is read and written. Envelopes are closed, bodies are open: a
later release may add keys. Write the files anew after a change of the tables with::

    python -c "from fisk_ai.sessions import published; published.write()"

Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fisk_ai.sessions import shapes
from fisk_ai.sessions.codec import NAMESPACE
from fisk_ai.sessions.kinds import Key

FOLDER = Path(__file__).parent / "schemas"
"""Where the written schemas are; they are part of the wheel."""

COMMON = "session.common.json"
"""The file of what several records share."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASE = "https://choria.io/schemas/io.choria.fisk-ai.v1/"


def documents() -> dict[str, dict[str, object]]:
    """Return every schema by its file name."""
    return {COMMON: _common()} | {
        f"session.{segment}.json": _record(segment) for segment in shapes.SHAPES
    }


def text_of(document: Mapping[str, object]) -> str:
    """Return a schema as it is written to its file."""
    return json.dumps(document, indent=2) + "\n"


def write() -> None:
    """Write every schema to its file."""
    for name, document in documents().items():
        (FOLDER / name).write_text(text_of(document), encoding="utf-8")


def _common() -> dict[str, object]:
    envelope = _body(shapes.ENVELOPE)
    return {
        "$schema": _DIALECT,
        "$id": _BASE + COMMON,
        "title": "What the records of a session share",
        "$defs": {"envelope": envelope, "fingerprint": _body(shapes.FINGERPRINT)},
    }


def _record(segment: str) -> dict[str, object]:
    properties: dict[str, object] = {"protocol": {"const": NAMESPACE + segment}}
    if segment == "meta":
        properties["seq"] = {"const": 1}
    elif not shapes.SHAPES[segment].optional:
        properties["optional"] = {"const": False}
    properties[segment] = _body(shapes.SHAPES[segment].keys)
    return {
        "$schema": _DIALECT,
        "$id": f"{_BASE}session.{segment}.json",
        "title": f"A {segment} record of a session",
        "$ref": f"{COMMON}#/$defs/envelope",
        "properties": properties,
        "required": [segment],
        "unevaluatedProperties": False,
    }


def _body(keys: Sequence[Key]) -> dict[str, object]:
    return {
        "type": "object",
        "required": [key.name for key in keys if key.required],
        "properties": {key.name: _property(key) for key in keys},
    }


def _property(key: Key) -> Mapping[str, object]:
    return {**key.kind.schema, "enum": list(key.allowed)} if key.allowed else key.kind.schema
