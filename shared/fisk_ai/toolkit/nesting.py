"""How deep a schema may be: each request writes it out, on a stack that is not empty by then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

NESTING_LIMIT = 100
"""Objects and lists inside one another; no tool that a model can call comes near it."""

TOO_DEEP = f"is nested more than {NESTING_LIMIT} levels deep; flatten it"


def is_too_deep(schema: Mapping[str, object]) -> bool:
    """Say whether a schema, which is JSON data, is nested beyond :data:`NESTING_LIMIT`."""
    level: list[object] = [schema]
    for _ in range(NESTING_LIMIT):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> list[object]:
    """Return the objects and lists directly inside ``value``."""
    inside: Iterable[object] = ()
    if isinstance(value, Mapping):
        inside = cast("Mapping[str, object]", value).values()
    elif isinstance(value, list):
        inside = cast("list[object]", value)
    return [child for child in inside if isinstance(child, Mapping | list)]
