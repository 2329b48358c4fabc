"""Everything a run decides before it touches a session, in the order people read warnings in.

Nothing here has an effect outside the process: a run refused here leaves no session behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fisk_ai.agent import budget, checkpoint, injected
from fisk_ai.agent.fingerprints import fingerprint_of
from fisk_ai.agent.foreign_hooks import kept_apart
from fisk_ai.agent.hooks import Hooks, RunStart
from fisk_ai.agent.notes import Note, notes
from fisk_ai.agent.options import RunOptions
from fisk_ai.agent.prompt import first_prompt
from fisk_ai.config import Config
from fisk_ai.errors import UsageError
from fisk_ai.sessions.records import Fingerprint
from fisk_ai.text.ids import ksuid
from fisk_ai.toolkit import toolset
from fisk_ai.toolkit.builtin import assemble
from fisk_ai.toolkit.contract import Advisory, Confirmable, Tool
from fisk_ai.toolkit.selection import select
from fisk_ai.toolkit.toolset import Sources, ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a run is made of; ``config`` is its own copy with the budget lowered.

    ``prompt`` and ``context`` are the words that join the conversation and ``hooks`` those that
    are called: both begin as the options have them and may change before a session is touched.
    ``session_id`` is the session the run will work in, empty where it journals nothing.
    """

    options: RunOptions
    config: Config
    hooks: Hooks
    tools: ToolSet
    notes: tuple[Note, ...]
    prompt: str
    context: str
    session_id: str
    fingerprint: Fingerprint
    confirm_tools: int

    @property
    def interactive(self) -> bool:
        """Whether a person sits at the run and is asked for the next prompt."""
        return self.options.next_prompt is not None

    def start(self, *, resumed: bool) -> RunStart:
        """Return what the first hook is told."""
        return RunStart(
            session_id=self.session_id,
            resumed=resumed,
            interactive=self.interactive,
            model=self.config.llm.model,
            tool_names=tuple(sorted(self.tools.by_name)),
        )


async def prepare(options: RunOptions) -> Setup:
    """Check and assemble a run's parts, telling the sink what a person should know.

    Raises:
        UsageError: a directory is no existing absolute one.
        ConfigError: no tool is left, two tools claim one name, or a built-in tool is unknown.
        SetupError: an injected store is missing, or is not the one the file declares.
    """
    await _require_directory("tool_work_dir", options.tool_work_dir)
    await _require_directory("store_dir", options.store_dir)
    config = budget.lower(options.config, options.budget)
    injected.require_fit(options)
    tools = await _tools(options, config)
    provider = options.provider.capabilities().provider
    return Setup(
        options=options,
        config=config,
        hooks=kept_apart(options.hooks, options.suspend_requested),
        tools=tools,
        notes=notes(config),
        prompt=first_prompt(options.prompt),
        context=options.context,
        session_id=_session_id(options),
        fingerprint=fingerprint_of(config, provider=provider, tools=tools.definitions),
        confirm_tools=_gated(config, tools.tools),
    )


async def _require_directory(name: str, path: Path | None) -> None:
    if path is None or (path.is_absolute() and await asyncio.to_thread(path.is_dir)):
        return
    raise UsageError(f"{name} {str(path)!r} is not an existing absolute directory", key=name)


async def _tools(options: RunOptions, config: Config) -> ToolSet:
    builtins = assemble.build(config, memory=options.memory_store, base=options.store_dir)
    nobody = not options.prompter.can_prompt()
    if nobody and config.harness.human_in_the_loop.enabled:
        await options.events.warn(Advisory(kind="hitl_no_terminal"))
    tools, advisories = toolset.build(
        Sources(
            app_tools=tuple(options.app_tools),
            remote_tools=tuple(options.remote_tools),
            custom_tools=tuple(options.custom_tools),
            builtins=builtins,
        ),
        supports_tool_search=options.provider.capabilities().supports_tool_search,
        allow_tool_search=not config.llm.no_tool_search,
        selection=select(config),
    )
    toolset.require_tools(
        tools.tools, application_path=config.application_path, source=str(config.source)
    )
    gated = _gated(config, tools.tools)
    if gated and nobody:
        await options.events.warn(Advisory(kind="confirm_no_terminal", count=gated))
    for advisory in (*options.app_advisories, *advisories):
        await options.events.warn(advisory)
    return tools


def _gated(config: Config, tools: Sequence[Tool]) -> int:
    tags = config.harness.confirm_tags
    return sum(isinstance(tool, Confirmable) and tool.needs_confirm(tags) for tool in tools)


def _session_id(options: RunOptions) -> str:
    wanted = options.checkpoint
    if wanted is None or not checkpoint.journals(wanted):
        return ""
    return wanted.resume_id or wanted.name or ksuid()
