"""How deep a schema may be: each request writes it out, on a stack that is not empty by then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

NESTING_LIMIT = 100
"""Objects and lists inside one another; no tool that a model can call comes near it."""

_Container = dict[str, object] | list[object]
_CONTAINERS = (dict, list)

TOO_DEEP = f"is nested more than {NESTING_LIMIT} levels deep; flatten it"


def is_too_deep(schema: Mapping[str, object]) -> bool:
    """Say whether a schema, which is JSON data, is nested beyond :data:`NESTING_LIMIT`."""
    level = _containers(schema.values())
    for _ in range(NESTING_LIMIT - 1):
        if not level:
            return False
        level = [child for parent in level for child in _containers(_inside(parent))]
    return bool(level)


def _containers(values: Iterable[object]) -> list[_Container]:
    # The two types of JSON data by name: asking for what is like them costs ten times as much.
    return [cast("_Container", value) for value in values if isinstance(value, _CONTAINERS)]


def _inside(container: _Container) -> Iterable[object]:
    return container.values() if isinstance(container, dict) else container
