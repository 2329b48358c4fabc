"""Tool definitions as the Anthropic API takes them.

Models fill in everything a schema shows, so a property that may be left out says so in its own
description. The caller's schema is hashed elsewhere and is never changed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from fisk_ai.llm.model import Request
from fisk_ai.llm.tool_def import ToolDef

TOOL_SEARCH: Final = "tool_search_tool_bm25"
"""Type and name of the tool that finds deferred ones; the API itself runs it."""

_SAYS_OPTIONAL: Final = (" (optional)", "Optional.")
_REWRITTEN: Final = ("type", "properties", "required")


def tools_to_wire(request: Request) -> list[dict[str, object]]:
    """Return a request's tools in order; behind them the search, where one has to be found."""
    tools = [_tool(tool) for tool in request.tools]
    if request.tool_search:
        tools.append({"type": TOOL_SEARCH, "name": TOOL_SEARCH})
    return tools


def _tool(tool: ToolDef) -> dict[str, object]:
    """Return one definition; ``description`` and ``defer_loading`` are always there."""
    return {
        "type": "custom",
        "name": tool.name,
        "description": tool.description,
        "defer_loading": tool.defer_loading,
        "input_schema": _schema(tool.input_schema),
    }


def _schema(schema: Mapping[str, object]) -> dict[str, object]:
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    written: dict[str, object] = {"type": "object"}
    if isinstance(schema.get("properties"), Mapping):
        written["properties"] = {
            name: value if name in required else _marked_optional(value)
            for name, value in _object(schema["properties"]).items()
        }
    if isinstance(schema.get("required"), list | tuple):
        written["required"] = required
    rest = {key: value for key, value in schema.items() if key not in _REWRITTEN}
    return written | rest


def _marked_optional(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    described = cast("Mapping[str, object]", value)
    description = described.get("description", "")
    if not isinstance(description, str) or description.endswith(_SAYS_OPTIONAL):
        return described
    marked = f"{description} (optional)" if description else "Optional."
    return {**described, "description": marked}


def _object(value: object) -> Mapping[str, object]:
    """Return a JSON object; an empty one for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    """Return a JSON list; an empty one for any other value."""
    return list(cast("list[object]", value)) if isinstance(value, list | tuple) else []
