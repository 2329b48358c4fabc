"""What every block of the file has in common: strict, frozen, and a null is an absence."""

from __future__ import annotations

from typing import Annotated, Final, Self, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fisk_ai.config.duration import parse_duration
from fisk_ai.config.scalar import canonical

INT_MAX: Final = 2**63 - 1
"""The largest integer a peer written in Go can hold."""

Text = Annotated[str, BeforeValidator(canonical)]
"""Text; an unquoted number or boolean is taken in its canonical spelling."""

Whole = Annotated[int, Field(ge=-INT_MAX, le=INT_MAX)]
"""A whole number; never text, a fraction or a boolean."""


class Block(BaseModel):
    """A mapping of the file: unknown keys and wrong types are refused, values never change."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,  # the whole file's validator holds those of the blocks that are written
    )

    @classmethod
    def unwritten(cls) -> Self:
        """Return the block of a file that does not write it.

        Its values are our own and need no check, for which each block would need a validator.
        """
        return cls.model_construct()

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        written = cast("dict[object, object]", data)
        return {
            key: value
            for key, value in written.items()
            if value is not None or key not in cls.model_fields
        }


class ToolFilter(Block):
    """Selects tools: by regular expressions over their names, or by exact tags."""

    tools: list[Text] = Field(default_factory=list[Text])
    tags: list[Text] = Field(default_factory=list[Text])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written, so that nothing is selected or dropped by it."""
        return not self.tools and not self.tags


def seconds(text: str, default_s: float) -> float:
    """Return a duration key's seconds, ``default_s`` while it is not written.

    Raises:
        ConfigError: the text is no duration, which a prepared configuration never holds.
    """
    return parse_duration(text) if text else default_s
