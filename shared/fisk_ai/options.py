"""Options of a provider, a backend or a tool, read strictly: one reader, so that none is laxer.

A refusal says where the option stands, the name that was not known and those that are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from fisk_ai.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)

NAME_LIMIT: Final = 80
"""Code points of an unknown name that a message repeats."""

_KINDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping of keys to values",
    "null": "nothing",
}
_EXPECTED: Final = re.compile(r"Expected `(\w+)`, got `(\w+)`")


class _FileOptions(msgspec.Struct, frozen=True):
    """The options of a backend that keeps files; an empty ``directory`` stands for its own."""

    directory: str = ""


def decode(what: str, options: Mapping[str, object], shape: type[T], *, key: str) -> T:
    """Read ``options`` into ``shape``; what is left out has the shape's defaults.

    ``what`` names their owner in a message, ``key`` is where they stand in the configuration.

    Raises:
        ConfigError: an option that ``shape`` has not, or one of another type.
    """
    known = [field.encode_name for field in msgspec.structs.fields(shape)]
    for name in options:
        if name not in known:
            reason = f'unknown key "{name[:NAME_LIMIT]}", {_known(known)}'
            raise invalid(what, reason, key=key, name=name)
    for name, value in options.items():
        try:
            msgspec.convert({name: value}, shape)
        except msgspec.ValidationError as exc:
            raise invalid(what, f"{name} {_reason(exc)}", key=key, name=name) from exc
    return msgspec.convert(dict(options), shape)


def directory(what: str, options: Mapping[str, object], *, key: str) -> str:
    """Read the options of a backend that keeps files and return its directory; as :func:`decode`.

    Raises:
        ConfigError: an option that is none, or a directory that no path can be.
    """
    written = decode(what, options, _FileOptions, key=key).directory
    if "\0" in written:
        raise invalid(what, "directory must be a path", key=key, name="directory")
    return written


def invalid(what: str, reason: str, *, key: str, name: str) -> ConfigError:
    """Return the refusal of the option ``name`` of those at ``key``."""
    return ConfigError(f"invalid {what} options: {key}: {reason}", key=f"{key}.{name}")


def _known(names: list[str]) -> str:
    return f"known are [{' '.join(names)}]" if names else "it takes none"


def _reason(exc: msgspec.ValidationError) -> str:
    problem = str(exc).partition(" - at ")[0]
    types = _EXPECTED.search(problem)
    if types is None:
        return f"is refused: {problem}"
    expected, got = (_KINDS.get(word, word) for word in types.groups())
    return f"must be {expected}, not {got}"
