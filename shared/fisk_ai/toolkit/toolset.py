"""One run's tools: every source claims its names in a fixed order, and nobody claims one twice.

A second tool of one name would shadow the first, and with it its gate. So any clash ends the
set-up. Definitions and dispatch are built together and never change afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, cast

from fisk_ai.errors import ConfigError, SetupError
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.toolkit.builtin.assemble import FEATURES, Builtins
from fisk_ai.toolkit.contract import TOOL_NAME, Advisory, Confirmable, Describer, Tool
from fisk_ai.toolkit.selection import Selection

TOOL_SEARCH_THRESHOLD = 10
"""From this many tools on, models find tools by search where their provider can."""

_PROBE = b"{}"  # describing is pure, so the arguments do not matter for what a tool is


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where a run's tools come from, in the order in which they claim names.

    ``app_tools``, ``remote_tools`` and ``builtins`` are selected where they are loaded. Tools of
    peers claim theirs between the built-ins and the custom tools, and are defined between the
    application's and the custom ones.
    """

    app_tools: Sequence[Tool] = ()
    remote_tools: Sequence[Tool] = ()
    builtins: Builtins = field(default_factory=Builtins)
    custom_tools: Sequence[Tool] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """What can be called and what models are told of it; the order of both is the same."""

    tools: tuple[Tool, ...]
    by_name: Mapping[str, Tool]
    definitions: tuple[ToolDef, ...]
    tool_search: bool


def build(
    sources: Sources,
    *,
    supports_tool_search: bool,
    allow_tool_search: bool,
    selection: Selection | None = None,
) -> tuple[ToolSet, tuple[Advisory, ...]]:
    """Assemble a run's tools: the application's, peers', custom ones by name, built-ins.

    ``selection`` narrows the custom tools. Built-ins are never deferred behind the search, but
    count towards it. An empty result is allowed here; whoever needs a tool asks
    :func:`require_tools`.

    Raises:
        ConfigError: two tools claim one name.
        SetupError: a custom tool that cannot be one; names its position in ``custom_tools``.
    """
    claims = _Claims()
    claims.application(sources.app_tools)
    claims.built_in(sources.builtins)
    claims.remote(sources.remote_tools)
    custom = claims.custom(sources.custom_tools, selection or Selection())
    in_front = sources.builtins.tools
    searched = (*sources.app_tools, *sources.remote_tools, *custom)
    tools = (*searched, *in_front)
    many = len(tools) >= TOOL_SEARCH_THRESHOLD
    defer = many and supports_tool_search and allow_tool_search
    definitions = (
        *(tool.definition(defer_loading=defer) for tool in searched),
        *(tool.definition(defer_loading=False) for tool in in_front),
    )
    tool_set = ToolSet(
        tools=tools,
        by_name=MappingProxyType({tool.name: tool for tool in tools}),
        definitions=definitions,
        tool_search=any(definition.defer_loading for definition in definitions),
    )
    if many and allow_tool_search and not supports_tool_search:
        return tool_set, (Advisory(kind="tool_search_unsupported", count=len(tools)),)
    return tool_set, ()


def require_tools(tools: Sequence[Tool], *, application_path: str, source: str) -> None:
    """Refuse an agent without a single tool; ``source`` is the configuration file.

    Raises:
        ConfigError: there is none; the message says what would add one.
    """
    if tools:
        return
    if application_path:
        raise ConfigError(
            f'no tools available after filtering; check include/exclude in "{source}"',
            key="include",
        )
    raise ConfigError(
        f'no tools available: "{source}" sets no application_path and nothing else adds a tool '
        "that include and exclude keep; "
        f"set application_path to a command-line application, switch on {_any_of(FEATURES)}, or "
        "bring tools of your own with --worker FILE",
        key="application_path",
    )


def _any_of(keys: Sequence[str]) -> str:
    return f"{', '.join(keys[:-1])} or {keys[-1]}"


class _Holder(NamedTuple):
    """Who took a name: a source, and the key or command that made it do so."""

    source: str
    tool: Tool
    feature: str = ""

    def __str__(self) -> str:
        """Return the words of a refusal, which only a clash needs."""
        if self.feature:
            return f"{self.source} tool of that name, which {self.feature} adds"
        named = isinstance(self.tool, Confirmable) and self.tool.command() != self.tool.name
        command = f', the command "{cast("Confirmable", self.tool).command()}"' if named else ""
        return f"{self.source} tool of that name{command}"


class _Claims:
    """The names taken so far."""

    def __init__(self) -> None:
        self._holders: dict[str, _Holder] = {}

    def application(self, tools: Sequence[Tool]) -> None:
        for tool in tools:
            if tool.name in self._holders:
                raise ConfigError(f'two commands claim the tool name "{tool.name}"', key="exclude")
            self._holders[tool.name] = _Holder("application", tool)

    def built_in(self, builtins: Builtins) -> None:
        for tool in builtins.tools:
            feature = builtins.feature_of[tool.name]
            self._take(
                _Holder("built-in", tool, feature),
                f'{feature} adds the built-in tool "{tool.name}", which',
                f"exclude or rename the application's, or switch {feature} off",
                key=feature,
            )

    def remote(self, tools: Sequence[Tool]) -> None:
        for tool in tools:
            self._take(
                _Holder("peer's", tool),
                f'remote_tools: the tool "{tool.name}" of a peer',
                "give the peer an alias, or exclude one",
                key="remote_tools",
            )

    def custom(self, tools: Sequence[Tool], selection: Selection) -> list[Tool]:
        kept: list[Tool] = []
        for index, tool in enumerate(tools):
            _check_shape(index, tool)
            if not selection.keeps_tool(tool):
                continue
            self._take(
                _Holder("earlier custom", tool),
                f'custom tool {index} "{tool.name}"',
                "rename one or exclude it",
                key="exclude",
            )
            _check_presentation(index, tool)
            kept.append(tool)
        return sorted(kept, key=lambda tool: tool.name)

    def _take(self, holder: _Holder, who: str, remedy: str, *, key: str) -> None:
        name = holder.tool.name
        other = self._holders.get(name)
        if other is not None:
            raise ConfigError(f"{who} collides with the {other}; {remedy}", key=key)
        self._holders[name] = holder


def _check_shape(index: int, tool: Tool | None) -> None:
    if tool is None:
        raise SetupError(f"custom tool {index} is None; pass a tool or leave it out")
    if not tool.name:
        raise SetupError(f"custom tool {index} has no name; give it one")
    declared = tool.definition(defer_loading=False).name
    if declared != tool.name:
        raise SetupError(
            f'custom tool {index} "{tool.name}" defines itself to models as "{declared}"; '
            "both names must be the same"
        )
    if TOOL_NAME.fullmatch(tool.name) is None:
        raise SetupError(
            f'custom tool {index} "{tool.name}" has a name that model providers refuse '
            "(1 to 128 of A-Z a-z 0-9 _ -); rename it"
        )


def _check_presentation(index: int, tool: Tool) -> None:
    if not isinstance(tool, Describer):
        return
    info = tool.describe(_PROBE)
    if info.present == "remote" or info.kind in ("remote", "mcp"):
        raise SetupError(
            f'custom tool {index} "{tool.name}" presents itself as another party\'s tool; '
            "a tool added in code is this process's own"
        )
