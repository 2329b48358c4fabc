"""Which tools an agent gets: patterns and tags that can only narrow what is there.

Patterns are RE2, as in the configuration of any other implementation. Python's own expressions
are no superset: ``[[:alpha:]]`` compiles there and matches nothing, so that an ``exclude`` would
let its tools through without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs] - it ships no types

from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.contract import Tagged, Tool
from fisk_ai.toolkit.tags import DENY


class FilterConfig(Protocol):
    """A filter as configured: patterns over the tool's name, and exact tags."""

    @property
    def tools(self) -> Sequence[str]:
        """Return the unanchored, case-sensitive expressions."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Return the tags; the empty one stands for tools without any."""
        ...


class SelectionConfig(Protocol):
    """The two filters of a configuration."""

    @property
    def include(self) -> FilterConfig:
        """Return what to keep."""
        ...

    @property
    def exclude(self) -> FilterConfig:
        """Return what to drop."""
        ...


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """A compiled filter; a tool matches by its name or by any of its tags."""

    searches: tuple[Callable[[str], object], ...]
    tags: frozenset[str]

    def matches(self, name: str, tags: Sequence[str]) -> bool:
        """Say whether a tool of this name and these tags matches."""
        for search in self.searches:
            if search(name) is not None:
                return True
        return not self.tags.isdisjoint(tags) if tags else "" in self.tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Both filters of one place; ``None`` where nothing is listed."""

    include: ToolFilter | None = None
    exclude: ToolFilter | None = None

    def keeps(self, name: str, tags: Sequence[str]) -> bool:
        """Say whether the tool stays; one tagged ``ai:deny`` never does."""
        if DENY in tags:
            return False
        if self.include is not None and not self.include.matches(name, tags):
            return False
        return self.exclude is None or not self.exclude.matches(name, tags)

    def keeps_tool(self, tool: Tool) -> bool:
        """Say the same of a tool; one that carries no tags matches the empty tag."""
        return self.keeps(tool.name, tool.tags() if isinstance(tool, Tagged) else ())


def compile_filter(
    tools: Sequence[str], tags: Sequence[str], *, key: str = "tools"
) -> ToolFilter | None:
    """Compile one filter; one that lists nothing is no filter at all.

    Raises:
        ConfigError: a pattern that is no RE2 expression; the message quotes it.
    """
    if not tools and not tags:
        return None
    searches = (_search(pattern, f"{key}[{at}]") for at, pattern in enumerate(tools))
    return ToolFilter(tuple(searches), frozenset(tags))


def select(config: SelectionConfig) -> Selection:
    """Compile the ``include`` and ``exclude`` of a configuration.

    Raises:
        ConfigError: a pattern does not compile.
    """
    include, exclude = config.include, config.exclude
    return Selection(
        include=compile_filter(include.tools, include.tags, key="include.tools"),
        exclude=compile_filter(exclude.tools, exclude.tags, key="exclude.tools"),
    )


def _search(pattern: str, key: str) -> Callable[[str], object]:
    options = re2.Options()
    options.log_errors = False  # it would print a bad pattern to standard error besides
    try:
        compiled = cast("_Pattern", re2.compile(pattern, options))  # pyright: ignore[reportUnknownMemberType] - untyped
    except cast("type[Exception]", re2.error) as exc:  # pyright: ignore[reportUnknownMemberType] - untyped
        reason = _text(exc.args[0] if exc.args else "")
        raise ConfigError(
            f'{key}: invalid tool filter pattern "{pattern}": {reason}', key=key
        ) from exc
    return lambda text: compiled.search(text.encode())  # of text it would count the characters


class _Pattern(Protocol):
    def search(self, text: bytes) -> object: ...


def _text(detail: object) -> str:
    return detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
