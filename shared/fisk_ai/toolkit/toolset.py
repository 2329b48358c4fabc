"""One run's tools: every source claims its names in a fixed order, and nobody claims one twice.

A second tool of one name would shadow the first, and with it its gate. So any clash ends the
set-up. Definitions and dispatch are built together and never change afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fisk_ai.errors import ConfigError, SetupError
from fisk_ai.llm.model import ToolDef
from fisk_ai.toolkit.contract import Advisory, Describer, Tool
from fisk_ai.toolkit.selection import Selection

TOOL_SEARCH_THRESHOLD = 10
"""From this many tools on, models find tools by search where their provider can."""

_PROBE = b"{}"  # describing is pure, so the arguments do not matter for what a tool is


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSet:
    """What can be called and what models are told of it; the order of both is the same."""

    tools: tuple[Tool, ...]
    by_name: Mapping[str, Tool]
    definitions: tuple[ToolDef, ...]
    tool_search: bool


def build(
    app_tools: Sequence[Tool],
    custom_tools: Sequence[Tool],
    *,
    supports_tool_search: bool,
    allow_tool_search: bool,
    selection: Selection | None = None,
) -> tuple[ToolSet, tuple[Advisory, ...]]:
    """Assemble a run's tools: the application's in their order, then custom ones by name.

    ``selection`` narrows the custom tools; the application's are selected when they are loaded.
    An empty result is allowed here; whoever needs a tool asks :func:`require_tools`.

    Raises:
        ConfigError: two tools claim one name.
        SetupError: a custom tool that cannot be one; names its position in ``custom_tools``.
    """
    claimed: dict[str, Tool] = {}
    for tool in app_tools:
        if tool.name in claimed:
            raise ConfigError(f'two commands claim the tool name "{tool.name}"', key="exclude")
        claimed[tool.name] = tool
    custom = _claim_custom(custom_tools, frozenset(claimed), selection or Selection())
    tools = (*app_tools, *custom)
    many = len(tools) >= TOOL_SEARCH_THRESHOLD
    defer = many and supports_tool_search and allow_tool_search
    definitions = tuple(tool.definition(defer_loading=defer) for tool in tools)
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
        f'no tools available: "{source}" sets no application_path and nothing else adds a tool; '
        "set application_path to a command-line application",
        key="application_path",
    )


def _claim_custom(
    custom_tools: Sequence[Tool], application: frozenset[str], selection: Selection
) -> list[Tool]:
    kept: dict[str, Tool] = {}
    for index, tool in enumerate(custom_tools):
        _check_shape(index, tool)
        if not selection.keeps_tool(tool):
            continue
        source = "application" if tool.name in application else "earlier custom"
        if tool.name in application or tool.name in kept:
            raise ConfigError(
                f'custom tool {index} "{tool.name}" collides with the {source} tool of that name; '
                "rename one or exclude it",
                key="exclude",
            )
        _check_presentation(index, tool)
        kept[tool.name] = tool
    return [kept[name] for name in sorted(kept)]


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


def _check_presentation(index: int, tool: Tool) -> None:
    if not isinstance(tool, Describer):
        return
    info = tool.describe(_PROBE)
    if info.present == "remote" or info.kind in ("remote", "mcp"):
        raise SetupError(
            f'custom tool {index} "{tool.name}" presents itself as another party\'s tool; '
            "a tool added in code is this process's own"
        )
