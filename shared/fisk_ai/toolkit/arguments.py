"""The arguments of a call as a model wrote them: numbers keep their spelling, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from fisk_ai.errors import ToolError
from fisk_ai.text.sanitise import clean_surrogates


class Number(str):
    """A JSON number as it was written: ``9007199254740993`` and ``1.50`` come out unchanged."""

    __slots__ = ()


Value = str | Number | bool | None | list["Value"] | dict[str, "Value"]


def decode(raw: bytes) -> dict[str, Value]:
    """Read an object of arguments; nothing and ``null`` stand for none.

    Raises:
        ToolError: not a JSON object; says so in words a model can mend.
    """
    if not raw.strip():
        return {}
    try:
        value = json.loads(
            raw.decode(), parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
        )
        value = _clean(value)
    except RecursionError as exc:
        raise ToolError("the arguments are nested too deeply") from exc
    except ValueError as exc:
        raise ToolError(f"the arguments are no valid JSON: {exc}") from exc
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolError(f"the arguments must be an object, got {kind_of(value)}")
    return value


def kind_of(value: Value) -> str:
    """Return the JSON word for a value's kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case Number():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def required_of(schema: Mapping[str, object]) -> list[str]:
    """Return the names a schema requires, in its order."""
    listed = schema.get("required")
    if not isinstance(listed, list):
        return []
    return [name for name in cast("list[object]", listed) if isinstance(name, str)]


def properties_of(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the properties a schema names."""
    properties = schema.get("properties")
    return cast("dict[str, object]", properties) if isinstance(properties, dict) else {}


def missing_required(schema: Mapping[str, object], raw: bytes) -> list[str]:
    """Return what the call lacks; a key counts as supplied whatever its value is."""
    try:
        given = decode(raw)
    except ToolError:
        return []
    return [name for name in required_of(schema) if name not in given]


def missing_message(tool: str, schema: Mapping[str, object], names: Sequence[str]) -> str:
    """Return one text that names what is missing and everything the tool takes."""
    required = required_of(schema)
    optional = sorted(properties_of(schema).keys() - {*required})
    text = f'tool "{tool}" is missing required arguments: {", ".join(names)} '
    text += f"(required: {', '.join(required)}"
    if optional:
        text += f"; optional: {', '.join(optional)}"
    return text + ")"


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _clean(value: Value) -> Value:
    match value:
        case Number():
            return value
        case str():
            return clean_surrogates(value)
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {clean_surrogates(key): _clean(item) for key, item in value.items()}
        case _:
            return value
