"""The built-in tools that an operator lists by name, each with options of its own.

A tool's module is loaded when the tool is listed: most agents list none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.builtin.factory import OPTIONS_KEY
from fisk_ai.toolkit.functool import FunctionTool

KEY = "harness.tools"


class Entry(Protocol):
    """One entry of the list as configured."""

    @property
    def name(self) -> str:
        """Return the tool's name."""
        ...

    @property
    def confirm(self) -> bool:
        """Say whether a person must allow each call."""
        ...

    @property
    def options(self) -> Mapping[str, object]:
        """Return the options of that tool."""
        ...


class _Factory(Protocol):
    def __call__(
        self, options: Mapping[str, object], *, gated: bool, base: Path | None, key: str
    ) -> FunctionTool: ...


def _read_file() -> _Factory:
    from fisk_ai.toolkit.builtin import read_file  # noqa: PLC0415 - seldom listed

    return read_file.build


def _base64_encode() -> _Factory:
    from fisk_ai.toolkit.builtin import encode  # noqa: PLC0415 - seldom listed

    return encode.build


_KNOWN: Mapping[str, Callable[[], _Factory]] = {
    "read_file": _read_file,
    "base64_encode": _base64_encode,
}


def build(entries: Sequence[Entry], *, base: Path | None) -> list[FunctionTool]:
    """Build the listed tools in their order; ``base`` is where relative paths start.

    Raises:
        ConfigError: an entry without a name, of an unknown one, listed twice, or with options the
            tool does not take.
    """
    built: dict[str, FunctionTool] = {}
    for number, entry in enumerate(entries, start=1):
        factory = _factory(number, entry.name, built)
        key = f"{KEY}[{number - 1}].{OPTIONS_KEY}"
        built[entry.name] = factory(entry.options, gated=entry.confirm, base=base, key=key)
    return list(built.values())


def _factory(number: int, name: str, built: Mapping[str, FunctionTool]) -> _Factory:
    if not name:
        raise ConfigError(f"{KEY}: entry {number} has no name", key=KEY)
    if name not in _KNOWN:
        raise ConfigError(
            f'{KEY}: "{name}" is not a built-in an entry can enable; accepted: {", ".join(_KNOWN)}',
            key=KEY,
        )
    if name in built:
        raise ConfigError(f'{KEY}: "{name}" is listed twice', key=KEY)
    return _KNOWN[name]()
