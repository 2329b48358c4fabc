"""How deep a schema may be: each request writes it out, on a stack that is not empty by then."""

from __future__ import annotations

from collections.abc import Mapping

NESTING_LIMIT = 100
"""Objects and lists inside one another; no tool that a model can call comes near it."""

_Container = dict[str, object] | list[object]

TOO_DEEP = f"is nested more than {NESTING_LIMIT} levels deep; flatten it"


def is_too_deep(*schemas: Mapping[str, object]) -> bool:
    """Say whether one of the schemas, which are decoded JSON, is nested too deep.

    Asking for hundreds at once takes half the time of asking for each.
    """
    level: list[_Container] = [dict(schema) for schema in schemas]
    for _ in range(NESTING_LIMIT):
        # The very types that JSON is decoded to, in one comprehension: asking for what is like
        # them takes twice as long, and a call for each value many times.
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
