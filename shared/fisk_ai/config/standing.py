"""What this release does with every key of the file: works, holds anyway, reserved, not built.

This is the one place that says so; ``docs/reference/configuration.md`` repeats it for people. A
key that is not built is known and checked, and a value that would change what the agent does is
refused by whatever runs the agent, never dropped; commands that describe the file tell of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fisk_ai.config.expose import Slack
from fisk_ai.config.model import Config
from fisk_ai.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A key that cannot be granted yet; it covers every key below it.

    ``is_set`` tells whether a configuration asks for it; ``remedy`` says what to do instead.
    """

    key: str
    is_set: Callable[[Config], object]
    remedy: str = "remove it"


CONSUMED: Final[dict[str, str]] = {
    **{
        key: key
        for key in (
            "identity",
            "display_name",
            "description",
            "icon",
            "icon_url",
            "prompts",
            "application_path",
            "root_directory",
            "nats_context",
            "remote_tools",
            "system_prompt",
            "include.tools",
            "include.tags",
            "exclude.tools",
            "exclude.tags",
            "global_flags",
            "harness.confirm_tags",
            "harness.human_in_the_loop.enabled",
            "harness.tools",
            "harness.memory.enabled",
            "harness.memory.backend",
            "harness.memory.no_index",
            "harness.memory.read_only",
            "harness.memory.options",
            "harness.no_tui",
            "harness.pii.mode",
            "harness.sessions.backend",
            "harness.sessions.options",
            "llm.model",
            "llm.provider",
            "llm.budget.max_tokens",
            "llm.budget.max_iterations",
            "llm.reasoning_effort",
            "llm.no_prompt_cache",
            "llm.no_tool_search",
            "llm.options",
            "expose.agent.tools",
            "expose.agent.a2a.serve_tools",
            "expose.agent.a2a.max_concurrent_tools",
            "expose.agent.a2a.prompts.workers",
            "expose.agent.a2a.prompts.elicit",
            "expose.agent.a2a.prompts.approve",
            "expose.agent.a2a.prompts.approvals",
            "expose.agent.jobs.queue",
            "expose.agent.jobs.task_type",
            "expose.agent.jobs.workers",
            "expose.agent.jobs.nats_context",
            "expose.agent.jobs.max_payload",
            "expose.agent.jobs.approvals",
            "expose.agent.slack.workers",
            "expose.agent.slack.events",
        )
    },
    "harness.tool_timeout": "harness.tool_timeout_s",
    "llm.budget.max_output_tokens": "llm.output_cap",
    "llm.budget.call_timeout": "llm.budget.call_timeout_s",
    "llm.thinking.enabled": "llm.thinking_enabled",
    "expose.agent.a2a.prompts.elicit_max": "expose.agent.a2a.prompts.elicit_max_s",
    "expose.agent.a2a.tool_timeout": "expose.agent.a2a.tool_timeout_s",
    "expose.agent.a2a.request_timeout": "expose.agent.a2a.request_timeout_s",
    "expose.agent.slack.answer_grace": "expose.agent.slack.answer_grace_s",
}
"""Keys that change what this release does, each with the accessor that is read for it."""

HOLDS: Final = ("harness.no_bell",)
"""Keys whose wish is true whatever they say: there is no bell."""

RESERVED: Final = ("remote_agents",)
"""Keys that are accepted and do nothing, in every release so far; whoever sets one is told."""

_SLACK: Final = "expose.agent.slack"

LATER: Final[dict[str, Callable[[Config], object]]] = {
    f"{_SLACK}.context_lines": lambda c: _slack(c).context_lines != Slack().context_lines,
    f"{_SLACK}.no_progress": lambda c: _slack(c).no_progress,
    f"{_SLACK}.max_waiting": lambda c: _slack(c).max_waiting not in (0, 2 * _slack(c).workers),
    f"{_SLACK}.max_coalesced": lambda c: _slack(c).max_coalesced != Slack().max_coalesced,
    f"{_SLACK}.approvers": lambda c: _slack(c).approvers is not None,
}
"""Keys for another process, which is not built: the worker does without; whoever sets one is told.

Each tells whether a configuration asks for it.
"""

_REMOVE_ENTRIES: Final = "remove its entries"
_REMOVE_BLOCK: Final = "remove the block"
_SWITCH_OFF: Final = "remove the block or set enabled: false"

UNBUILT: Final = (
    Unbuilt("mcp_clients", lambda c: c.mcp_clients, _REMOVE_ENTRIES),
    Unbuilt("expose.agent.mcp", lambda c: c.expose.agent.mcp, _REMOVE_BLOCK),
    Unbuilt("expose.agent.web", lambda c: c.expose.agent.web, _REMOVE_BLOCK),
    Unbuilt("harness.knowledge", lambda c: c.harness.knowledge.enabled, _SWITCH_OFF),
    Unbuilt("telemetry", lambda c: c.telemetry.enabled, _SWITCH_OFF),
)


def _slack(config: Config) -> Slack:
    return config.expose.agent.slack or Slack()


def unbuilt_wishes(config: Config) -> tuple[ConfigError, ...]:
    """Return what this release cannot grant, in the order of the table: one refusal for each."""
    return tuple(_refusal(entry) for entry in UNBUILT if entry.is_set(config))


def reserved_wishes(config: Config) -> tuple[str, ...]:
    """Return a sentence for each key that asks for something and is read by nothing."""
    asked = (key for key in RESERVED if getattr(config, key))
    reserved = (f"{key} is reserved and does nothing yet; remove it" for key in asked)
    later = (
        f"{key} is for the Slack gateway, which is not built yet; it does nothing"
        for key, is_set in LATER.items()
        if is_set(config)
    )
    return (*reserved, *later)


def refuse_unbuilt(config: Config, *, below: str = "") -> None:
    """Refuse the first key whose wish this release cannot grant, of those in the block ``below``.

    Raises:
        ConfigError: names the key and what to do.
    """
    wishes = (wish for wish in unbuilt_wishes(config) if wish.key.startswith(below))
    refused = next(wishes, None)
    if refused is not None:
        raise refused


def _refusal(entry: Unbuilt) -> ConfigError:
    return ConfigError(f"{entry.key} is not built yet: {entry.remedy}", key=entry.key)
