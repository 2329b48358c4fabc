"""What the blocks of ``expose.agent`` mean: their words trimmed, their defaults filled in.

A number that cannot be meant, such as no worker at all, is the default.
"""

from __future__ import annotations

from fisk_ai.config.checks import unique, word
from fisk_ai.config.expose import A2A, Expose, Jobs, Mcp, Prompts, Slack, Web


def normalise_expose(expose: Expose) -> Expose:
    """Return ``expose`` with its words trimmed and its defaults filled in."""
    agent = expose.agent
    normal = agent.model_copy(
        update={
            "mcp": agent.mcp and _normal_mcp(agent.mcp),
            "a2a": agent.a2a and _normal_a2a(agent.a2a),
            "jobs": agent.jobs and _normal_jobs(agent.jobs),
            "slack": agent.slack and _normal_slack(agent.slack),
            "web": agent.web and _normal_web(agent.web),
        }
    )
    return expose.model_copy(update={"agent": normal})


def _normal_mcp(mcp: Mcp) -> Mcp:
    blank = Mcp.unwritten()
    return mcp.model_copy(
        update={
            "confirm_over_mcp": word(mcp.confirm_over_mcp, blank.confirm_over_mcp),
            "builtins": unique(mcp.builtins),
            "max_concurrent_tools": mcp.max_concurrent_tools or blank.max_concurrent_tools,
            "address": mcp.address or blank.address,
            "port": mcp.port or blank.port,
        }
    )


def _normal_a2a(a2a: A2A) -> A2A:
    if a2a.prompts is None:
        return a2a
    blank = Prompts.unwritten()
    prompts = a2a.prompts.model_copy(
        update={
            "workers": _positive(a2a.prompts.workers, blank.workers),
            "approve": word(a2a.prompts.approve, blank.approve),
            "approvals": word(a2a.prompts.approvals, blank.approvals),
        }
    )
    return a2a.model_copy(update={"prompts": prompts})


def _normal_jobs(jobs: Jobs) -> Jobs:
    blank = Jobs.unwritten()
    return jobs.model_copy(
        update={
            "queue": jobs.queue or blank.queue,
            "task_type": jobs.task_type or blank.task_type,
            "workers": _positive(jobs.workers, blank.workers),
            "max_payload": _positive(jobs.max_payload, blank.max_payload),
            "approvals": word(jobs.approvals, blank.approvals),
        }
    )


def _normal_slack(slack: Slack) -> Slack:
    blank = Slack.unwritten()
    workers = _positive(slack.workers, blank.workers)
    return slack.model_copy(
        update={
            "workers": workers,
            "context_lines": _positive(slack.context_lines, blank.context_lines),
            "max_waiting": _positive(slack.max_waiting, 2 * workers),
            "max_coalesced": _positive(slack.max_coalesced, blank.max_coalesced),
            "approvers": None if slack.approvers is None else unique(slack.approvers),
            "events": word(slack.events, blank.events),
        }
    )


def _normal_web(web: Web) -> Web:
    blank = Web.unwritten()
    return web.model_copy(
        update={
            "listen": web.listen or blank.listen,
            "base_path": web.base_path or blank.base_path,
        }
    )


def _positive(value: int, default: int) -> int:
    return value if value > 0 else default
