"""Tags on commands: what decides about confirmation, exclusion and hints to a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

ATTRIBUTE: Final = "__fisk_tags__"

Decorated = TypeVar("Decorated")


def tags(*names: str) -> Callable[[Decorated], Decorated]:
    """Tag a command; stands above or below the library's own decorator.

    ::

        @app.command()
        @tags("ai:confirm")
        def teach(joke: str) -> None: ...

    ``ai:confirm`` makes the agent ask a person before each call, ``ai:deny`` hides the command
    from it. The order is kept. A tag is one word; another is refused when the program is run.
    """

    def attach(decorated: Decorated) -> Decorated:
        setattr(decorated, ATTRIBUTE, (*names, *tags_of(decorated)))
        return decorated

    return attach


def tags_of(*objects: object) -> tuple[str, ...]:
    """Return the tags of a command and of the function behind it, each once."""
    found: dict[str, None] = {}
    for item in objects:
        value: object = getattr(item, ATTRIBUTE, ())
        if isinstance(value, tuple):
            found |= dict.fromkeys(str(name) for name in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - set by attach alone
    return tuple(found)
