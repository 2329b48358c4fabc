"""What the blocks of ``expose.agent`` may hold.

A block is checked whether or not anything serves it yet, so that a mistake in it is told at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from fisk_ai.config.checks import (
    check_choice,
    check_duration,
    check_served_tools,
    invalid,
    unique,
)
from fisk_ai.config.expose import A2A, Jobs, Mcp, Slack
from fisk_ai.config.harness import Harness
from fisk_ai.config.scalar import quote
from fisk_ai.config.web_rules import check_web
from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.config.model import Config

AGENT: Final = "expose.agent"
SERVED_BUILTINS: Final[dict[str, tuple[str, Callable[[Harness], bool]]]] = {
    "knowledge_search": ("knowledge", lambda h: h.knowledge.enabled),
    "knowledge_enumerate": ("knowledge", lambda h: h.knowledge.enabled),
    "knowledge_read": (
        "knowledge.read_tool",
        lambda h: h.knowledge.enabled and h.knowledge.read_tool,
    ),
    "read_file": ("the tool in harness.tools", lambda h: _lists(h, "read_file")),
    "base64_encode": ("the tool in harness.tools", lambda h: _lists(h, "base64_encode")),
}
"""Built-in tools that may leave the agent over MCP, each with what enables it."""

APPROVER: Final = re.compile(r"[UWS][A-Z0-9]{2,31}")
"""Ids of Slack: people begin with ``U`` or ``W``, groups with ``S``."""

JOB_NAME: Final = re.compile(r"[a-zA-Z0-9_:-]{1,128}")
"""A queue, and a type of jobs: tokens of subjects; :mod:`fisk_ai.jobs.names` has the same rule."""

_APPROVALS: Final = ("deny", "park")


def check_expose(config: Config) -> None:
    """Refuse the first value of ``expose.agent`` that can never be meant.

    Raises:
        ConfigError: names the key and what may stand there.
    """
    agent = config.expose.agent
    if agent.mcp is not None:
        _check_mcp(agent.mcp, config.harness)
    if agent.a2a is not None:
        _check_a2a(agent.a2a)
    if agent.jobs is not None:
        _check_jobs(agent.jobs)
    if agent.slack is not None:
        _check_slack(agent.slack)
    if agent.web is not None:
        check_web(agent.web)


def _check_jobs(jobs: Jobs) -> None:
    base = f"{AGENT}.jobs"
    for key, name in ((f"{base}.queue", jobs.queue), (f"{base}.task_type", jobs.task_type)):
        if name and not JOB_NAME.fullmatch(name):
            raise invalid(key, name, "must be at most 128 letters, digits, _, - and :")
    check_choice(f"{base}.approvals", jobs.approvals, _APPROVALS)


def _lists(harness: Harness, name: str) -> bool:
    return any(tool.name.strip() == name for tool in harness.tools)


def _check_mcp(mcp: Mcp, harness: Harness) -> None:
    base = f"{AGENT}.mcp"
    check_choice(f"{base}.confirm_over_mcp", mcp.confirm_over_mcp, ("auto", "always", "never"))
    _check_builtins(f"{base}.builtins", unique(mcp.builtins), harness)
    check_served_tools(f"{base}.max_concurrent_tools", mcp.max_concurrent_tools)
    check_duration(f"{base}.tool_timeout", mcp.tool_timeout, zero=True)


def _check_builtins(key: str, names: list[str], harness: Harness) -> None:
    """Every name is checked before any feature: a slip must not read like a switch to turn on."""
    for name in names:
        if name not in SERVED_BUILTINS:
            raise ConfigError(
                f"{key}: {quote(name)} is not an accepted built-in name; accepted:"
                f" {', '.join(SERVED_BUILTINS)} (tools of memory and questions belong to a"
                " conversation and are never served)",
                key=key,
            )
    for feature, listed in _by_feature(names, harness):
        raise ConfigError(
            f"{key} lists {', '.join(listed)} but {feature} is not enabled; enable it or take"
            " the name out",
            key=key,
        )


def _by_feature(names: list[str], harness: Harness) -> Iterable[tuple[str, list[str]]]:
    missing: dict[str, list[str]] = {}
    for name in names:
        feature, enabled = SERVED_BUILTINS[name]
        if not enabled(harness):
            missing.setdefault(feature, []).append(name)
    return missing.items()


def _check_a2a(a2a: A2A) -> None:
    base = f"{AGENT}.a2a"
    check_served_tools(f"{base}.max_concurrent_tools", a2a.max_concurrent_tools)
    check_duration(f"{base}.tool_timeout", a2a.tool_timeout, zero=True)
    check_duration(f"{base}.request_timeout", a2a.request_timeout)
    if a2a.prompts is not None:
        prompts = f"{base}.prompts"
        check_choice(f"{prompts}.approve", a2a.prompts.approve, ("caller", "operator"))
        check_choice(f"{prompts}.approvals", a2a.prompts.approvals, _APPROVALS)
        check_duration(f"{prompts}.elicit_max", a2a.prompts.elicit_max)


def _check_slack(slack: Slack) -> None:
    base = f"{AGENT}.slack"
    check_duration(f"{base}.answer_grace", slack.answer_grace)
    check_choice(f"{base}.events", slack.events, ("status", "full"))
    key = f"{base}.approvers"
    if slack.approvers is not None and not unique(slack.approvers):
        raise ConfigError(
            f"{key} lists nobody, so no call could be approved: list users and groups, or remove"
            " the key to let whoever asked approve",
            key=key,
        )
    for entry in slack.approvers or ():
        if entry.strip() and not APPROVER.fullmatch(entry.strip()):
            raise invalid(key, entry, "must be the id of a user (U... or W...) or a group (S...)")
