"""The JSON Schemas of the messages, derived from the message classes, which are the one source.

The files in ``schemas/`` are for readers in other languages and for people; nothing here reads
them at run time, because the classes refuse at least what the schemas refuse. A test keeps both
the same, and ``python -m fisk_ai.a2a.schema`` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from fisk_ai.a2a.events import BLOCKS
from fisk_ai.a2a.header import NAMESPACE, Header
from fisk_ai.a2a.messages import EVENT_PREFIX, MESSAGES, DiscoveryRequest, FixedMessage
from fisk_ai.published import Schema, by_name, opening, write

DIRECTORY = Path(__file__).parent / "schemas"
"""Where the written schemas are; they are part of the wheel."""

_HEADER = "common.json#/$defs/header"
_FRAME = ("protocol", *Header.__struct_fields__)


def documents() -> dict[str, Schema]:
    """Return every schema by the name of its file."""
    shapes: list[type[Struct]] = [*MESSAGES.values(), *BLOCKS.values()]
    _, found = msgspec.json.schema_components(
        shapes, schema_hook=_opaque, ref_template="common.json#/$defs/{name}"
    )
    parts = {name: _part(body) for name, body in found.items()}
    made = [_common(parts), _unknown_event()]
    made += [_message(protocol, shape, parts) for protocol, shape in MESSAGES.items()]
    made += [_event(suffix, parts[block.__name__]) for suffix, block in BLOCKS.items()]
    return by_name(made)


def _opaque(kind: type) -> Schema:
    """Return the schema of what is kept as it came."""
    return {"description": "any JSON value"}


def _part(body: Mapping[str, Any]) -> Schema:
    """Return a definition in the words of JSON Schema alone."""
    kept = {key: _plain(value) for key, value in body.items() if key not in ("title", "default")}
    if "properties" in kept:
        kept["properties"] = {name: _property(value) for name, value in kept["properties"].items()}
    return kept


def _property(value: Mapping[str, Any]) -> Schema:
    """Drop a default: a field at its zero value is absent, which is no default of a schema."""
    return {key: item for key, item in value.items() if key != "default"}


def _plain(value: Any) -> Any:  # noqa: ANN401 - one JSON value
    if isinstance(value, str):
        return value.replace(r"\A", "^").replace(r"\Z", "$").replace("``", "`")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("Schema", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value


def _common(parts: Mapping[str, Schema]) -> Schema:
    messages = {shape.__name__ for shape in (*MESSAGES.values(), *BLOCKS.values())}
    shared = {name: part for name, part in sorted(parts.items()) if name not in messages}
    return {
        **_opening("common.json", "Definitions shared by the messages"),
        "$defs": {"header": _header(parts[DiscoveryRequest.__name__]), **shared},
    }


def _header(part: Mapping[str, Any]) -> Schema:
    properties = {name: part["properties"][name] for name in _FRAME}
    properties["protocol"] = {"type": "string"}
    return {
        "type": "object",
        "description": "What every message carries.",
        "properties": properties,
        "required": part["required"],
    }


def _message(protocol: str, shape: type[FixedMessage], parts: Mapping[str, Schema]) -> Schema:
    part = parts[shape.__name__]
    own = {name: body for name, body in part["properties"].items() if name not in _FRAME}
    refused = dict.fromkeys(sorted(shape.REFUSES), False)
    named = [{"required": [name]} for name in shape.ONE_OF]
    return {
        **_opening(f"{protocol.removeprefix(f'{NAMESPACE}.')}.json", part["description"]),
        "allOf": [{"$ref": _HEADER}],
        "properties": {"protocol": {"const": protocol}, **refused, **own},
        "required": [name for name in part["required"] if name not in _FRAME],
        **({"oneOf": named} if named else {}),
    }


def _event(suffix: str, block: Schema) -> Schema:
    return {
        **_opening(f"event.{suffix}.json", block.get("description", "")),
        "allOf": [{"$ref": _HEADER}],
        "properties": {"protocol": {"const": f"{NAMESPACE}.event.{suffix}"}, "block": block},
        "required": ["block"],
    }


def _unknown_event() -> Schema:
    prefix = EVENT_PREFIX.replace(".", r"\.")
    return {
        **_opening("event.json", "An event of a kind that has no schema of its own yet."),
        "allOf": [{"$ref": _HEADER}],
        "properties": {
            "protocol": {"type": "string", "pattern": f"^{prefix}[^.]+$"},
            "block": {"type": "object"},
        },
        "required": ["block"],
    }


def _opening(name: str, description: str) -> Schema:
    return {**opening(name), "description": description}


if __name__ == "__main__":
    write(DIRECTORY, documents())
