"""What a tool says of its effects: four hints, each of which may be left unsaid.

Hints describe and enforce nothing. What is unsaid is read as the worst by whoever decides on it.
Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import cast

Hint = bool | None
"""``None`` says nothing, which is not the same as no."""

_WORDS = {
    "read_only": ("read only", "not read only"),
    "destructive": ("destructive", "additive"),
    "idempotent": ("idempotent", "not idempotent"),
    "open_world": ("open world", "closed world"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """The hints of one tool, constant for it."""

    read_only: Hint = None
    destructive: Hint = None
    idempotent: Hint = None
    open_world: Hint = None

    @property
    def contradicts_itself(self) -> bool:
        """Whether it claims to change nothing and to destroy."""
        return self.read_only is True and self.destructive is True

    def resolve(self) -> Behavior:
        """Return it with a contradiction read dangerously: what destroys is not read-only."""
        return replace(self, read_only=False) if self.contradicts_itself else self

    def words(self) -> str:
        """Return what is declared, in words joined by commas; empty when nothing is."""
        declared = self.to_json()
        return ", ".join(_WORDS[name][0 if hint else 1] for name, hint in declared.items())

    def to_json(self) -> dict[str, bool]:
        """Return the declared hints under their JSON keys, in a fixed order."""
        hints = ((field.name, cast("Hint", getattr(self, field.name))) for field in fields(self))
        return {name: hint for name, hint in hints if hint is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Behavior:
        """Read hints; an absent key and ``null`` say nothing, unknown keys are ignored.

        Raises:
            ValueError: a hint that is no boolean; names it.
        """
        return cls(**{name: _hint(name, value.get(name)) for name in _WORDS})


def _hint(name: str, value: object) -> Hint:
    if value is None or isinstance(value, bool):
        return value
    raise ValueError(f"the behaviour hint {name} must be true, false or absent")
