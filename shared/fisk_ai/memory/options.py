"""The one reader of a backend's options, so that no backend is laxer than another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from fisk_ai.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)

OPTIONS_KEY = "harness.memory.options"
"""Where a backend's options stand in a configuration."""


def decode(backend: str, options: Mapping[str, object], shape: type[T]) -> T:
    """Read ``options`` into ``shape``; what is left out has the shape's defaults.

    Raises:
        ConfigError: an option the backend does not take, or one of another type.
    """
    known = [field.encode_name for field in msgspec.structs.fields(shape)]
    for name in options:
        if name not in known:
            raise _invalid(backend, name, f'unknown key "{name}", known are [{" ".join(known)}]')
    for name, value in options.items():
        try:
            msgspec.convert({name: value}, shape)
        except msgspec.ValidationError as exc:
            reason = str(exc).partition(" - at ")[0]
            raise _invalid(backend, name, f"{name}: {reason}") from exc
    return msgspec.convert(dict(options), shape)


def _invalid(backend: str, name: str, reason: str) -> ConfigError:
    return ConfigError(f"invalid {backend} memory options: {reason}", key=f"{OPTIONS_KEY}.{name}")
