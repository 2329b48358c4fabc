"""Which built-in tools a configuration switches on, and which of its keys adds each.

Built-ins pass the agent's filters under their own names like every other tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fisk_ai.toolkit.contract import Tool
from fisk_ai.toolkit.selection import select

if TYPE_CHECKING:
    from fisk_ai.config import Config  # loads pydantic, which a tool set does not need
    from fisk_ai.memory.store import MemoryStore  # seldom needed

HITL_FEATURE = "harness.human_in_the_loop"
MEMORY_FEATURE = "harness.memory"
TOOLS_FEATURE = "harness.tools"

FEATURES = (HITL_FEATURE, MEMORY_FEATURE, TOOLS_FEATURE)
"""The keys that add built-in tools, in the order of those tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtins:
    """The built-in tools of one agent in order; ``feature_of`` maps a name to its key."""

    tools: tuple[Tool, ...] = ()
    feature_of: Mapping[str, str] = field(default_factory=dict[str, str])


def build(config: Config, *, memory: MemoryStore | None, base: Path | None = None) -> Builtins:
    """Build what ``config`` enables, in the order questions, memory, ``harness.tools``.

    Tools of a ``memory`` that is not there are built all the same, so that they can be listed;
    calling one fails. A file tool's relative root starts at ``root_directory``, else at ``base``.

    Raises:
        ConfigError: an entry of ``harness.tools`` that cannot be meant, or a filter that does not
            compile.
    """
    selection = select(config)
    kept = [
        (tool, feature)
        for tool, feature in _enabled(config, memory, base)
        if selection.keeps_tool(tool)
    ]
    return Builtins(
        tools=tuple(tool for tool, _ in kept),
        feature_of=MappingProxyType({tool.name: feature for tool, feature in kept}),
    )


def _enabled(
    config: Config, memory: MemoryStore | None, base: Path | None
) -> Iterator[tuple[Tool, str]]:
    harness = config.harness
    if harness.human_in_the_loop.enabled:
        from fisk_ai.toolkit.builtin import hitl  # noqa: PLC0415 - seldom needed, like the others

        yield from ((tool, HITL_FEATURE) for tool in hitl.TOOLS)
    if harness.memory.enabled:
        from fisk_ai.toolkit.builtin.memory import memory_tools  # noqa: PLC0415 - as above

        tools = memory_tools(memory, read_only=harness.memory.read_only)
        yield from ((tool, MEMORY_FEATURE) for tool in tools)
    if harness.tools:
        from fisk_ai.toolkit.builtin import harness_tools  # noqa: PLC0415 - as above

        root = config.base or base
        yield from ((tool, TOOLS_FEATURE) for tool in harness_tools.build(harness.tools, base=root))
