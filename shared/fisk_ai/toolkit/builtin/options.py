"""Options of a built-in tool, read strictly: one reader, so that no tool may relax the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from fisk_ai.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)


def read(tool: str, options: Mapping[str, object], kind: type[T]) -> T:
    """Return ``options`` as ``kind``, which forbids unknown fields.

    Raises:
        ConfigError: an unknown key or a value of another type; names the tool and both.
    """
    try:
        return msgspec.convert(dict(options), kind)
    except msgspec.ValidationError as exc:
        raise ConfigError(f"invalid {tool} options: {exc}", key="harness.tools") from exc
