"""Everything a run decides before it touches a session, in the order people read warnings in.

Nothing here has an effect outside the process: a run refused here leaves no session behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.agent import budget
from fisk_ai.agent.options import RunOptions
from fisk_ai.agent.prompt import first_prompt
from fisk_ai.config import Config
from fisk_ai.errors import UsageError
from fisk_ai.sessions import fingerprint
from fisk_ai.sessions.records import Fingerprint
from fisk_ai.toolkit import toolset
from fisk_ai.toolkit.builtin import assemble
from fisk_ai.toolkit.contract import Advisory, Confirmable, Tool
from fisk_ai.toolkit.selection import select
from fisk_ai.toolkit.toolset import ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a run is made of; ``config`` is its own copy with the budget lowered."""

    options: RunOptions
    config: Config
    tools: ToolSet
    prompt: str
    fingerprint: Fingerprint
    confirm_tools: int


async def prepare(options: RunOptions) -> Setup:
    """Check and assemble a run's parts, telling the sink what a person should know.

    Raises:
        UsageError: the work directory is no existing absolute directory.
        ConfigError: no tool is left, or two tools claim one name.
    """
    await _require_directory(options.tool_work_dir)
    config = budget.lower(options.config, options.budget)
    capabilities = options.provider.capabilities()
    tools, advisories = toolset.build(
        toolset.Sources(
            app_tools=options.app_tools,
            builtins=assemble.build(config, memory=options.memory_store, base=_base(config)),
            custom_tools=options.custom_tools,
        ),
        supports_tool_search=capabilities.supports_tool_search,
        allow_tool_search=not config.llm.no_tool_search,
        selection=select(config),
    )
    toolset.require_tools(
        tools.tools, application_path=config.application_path, source=str(config.source)
    )
    confirm_tools = _gated(config, tools.tools)
    if confirm_tools and not options.prompter.can_prompt():
        await options.events.warn(Advisory(kind="confirm_no_terminal", count=confirm_tools))
    for advisory in (*options.app_advisories, *advisories):
        await options.events.warn(advisory)
    return Setup(
        options=options,
        config=config,
        tools=tools,
        prompt=first_prompt(options.prompt),
        fingerprint=_fingerprint(config, tools, capabilities.provider),
        confirm_tools=confirm_tools,
    )


def _base(config: Config) -> Path | None:
    return Path(config.root_directory) if config.root_directory else None


async def _require_directory(path: Path | None) -> None:
    if path is None or (path.is_absolute() and await asyncio.to_thread(path.is_dir)):
        return
    raise UsageError(
        f"tool_work_dir {str(path)!r} is not an existing absolute directory", key="tool_work_dir"
    )


def _gated(config: Config, tools: Sequence[Tool]) -> int:
    tags = config.harness.confirm_tags
    return sum(isinstance(tool, Confirmable) and tool.needs_confirm(tags) for tool in tools)


def _fingerprint(config: Config, tools: ToolSet, provider: str) -> Fingerprint:
    return fingerprint.build(
        provider=provider,
        model=config.llm.model,
        system_prompt=config.system_prompt,
        tools=tools.definitions,
        thinking_enabled=config.llm.thinking_enabled,
        reasoning_effort=config.llm.reasoning_effort,
        max_tokens=config.llm.budget.max_tokens,
        max_iterations=config.llm.budget.max_iterations,
    )
