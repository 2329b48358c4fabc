"""What each way of running an agent needs of its file, and in which order it is asked for.

An endpoint that is not built yet has its row, too: its needs are part of the file's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fisk_ai.config.model import Config
from fisk_ai.errors import ConfigError


class Broker(StrEnum):
    """Where a process finds its broker."""

    NAMED = "named"
    """Only where the file names it by ``nats_context``."""

    GIVEN = "given"
    """An address was given to the process itself."""

    EMBEDDED = "embedded"
    """Its own, which nobody else can reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endpoint:
    """What one block of ``expose.agent`` needs, beside a broker."""

    block: str
    enabled: Callable[[Config], object]
    keys: str
    runs_loop: bool = True
    needs_application: bool = False
    context: Callable[[Config], str] = lambda config: config.nats_context


_TO_RUN: Final = "to run an agent"
_SUBJECTS: Final = "it keys the subjects this agent answers on"

_JOBS: Final = _Endpoint(
    block="jobs",
    enabled=lambda c: c.expose.agent.jobs,
    keys="it keys the sessions of its jobs",
    context=lambda c: (c.expose.agent.jobs and c.expose.agent.jobs.nats_context) or c.nats_context,
)
_SERVE_TOOLS: Final = _Endpoint(
    block="a2a.serve_tools",
    enabled=lambda c: (a2a := c.expose.agent.a2a) and a2a.serve_tools,
    keys=_SUBJECTS,
    runs_loop=False,
    needs_application=True,
)
_PROMPTS: Final = _Endpoint(
    block="a2a.prompts",
    enabled=lambda c: (a2a := c.expose.agent.a2a) and a2a.prompts,
    keys=_SUBJECTS,
)
_SLACK: Final = _Endpoint(
    block="slack",
    enabled=lambda c: c.expose.agent.slack,
    keys="it keys the sessions of its threads",
)
_WEB: Final = _Endpoint(
    block="web", enabled=lambda c: c.expose.agent.web, keys="it keys the sessions of its callers"
)
_MCP: Final = _Endpoint(
    block="mcp", enabled=lambda c: c.expose.agent.mcp, keys=_SUBJECTS, runs_loop=False
)


_LOOPS: Final = (_JOBS, _PROMPTS, _SLACK, _WEB)
"""What brings work to the loop."""

EXAMPLES: Final = """\
expose:
  agent:
    a2a:
      prompts: {}        # answer prompts of other agents and of terminals
      serve_tools: true  # lend this agent's tools to others
    jobs: {}             # take jobs from the queue FISK_AI, of the type fisk-ai:run, one at a time
    slack: {}            # answer in Slack; its gateway needs SLACK_APP_TOKEN and SLACK_BOT_TOKEN
    mcp: {}              # lend tools over MCP"""


def require_endpoint(config: Config) -> None:
    """Refuse to serve a file that enables nothing to serve, which is a file like any other.

    Raises:
        ConfigError: a sentence, and below it what enables each endpoint.
    """
    if not any(each.enabled(config) for each in (*_LOOPS, _SERVE_TOOLS, _MCP)):
        raise ConfigError(
            f'fisk-ai serve needs an endpoint to run, and "{config.source}" enables none; enable'
            f" one or several of these:\n\n{EXAMPLES}",
            key="expose.agent",
        )


def require_agent(config: Config, broker: Broker) -> None:
    """Refuse what cannot run the loop for one person.

    Raises:
        ConfigError: the first thing missing.
    """
    for refused in agent_refusals(config, broker):
        raise refused


def agent_refusals(config: Config, broker: Broker) -> Iterator[ConfigError]:
    """Yield everything missing to run the loop for one person, in the order it is asked for."""
    for require in _AGENT:
        try:
            require(config, broker)
        except ConfigError as exc:
            yield exc


def require_served(config: Config, broker: Broker) -> None:
    """Refuse what could not serve each endpoint that the file enables.

    Raises:
        ConfigError: the first thing missing; it names the endpoint.
    """
    _require_all(config, _JOBS, broker)
    _check_a2a(config, broker)
    for endpoint in (_SERVE_TOOLS, _PROMPTS, _SLACK, _WEB, _MCP):
        _require_all(config, endpoint, broker)
    _require_peers(config, broker)
    _require_shared_sessions(config, broker)


def _require_own_prompt(config: Config, _broker: Broker) -> None:
    if not _serves_mcp_alone(config):
        _require_prompt(config, _TO_RUN)


def _require_job_broker(config: Config, broker: Broker) -> None:
    if _JOBS.enabled(config):
        _require_broker(config, _JOBS, broker)


def _require_own_model(config: Config, _broker: Broker) -> None:
    _require_model(config, _TO_RUN)


def _serves_mcp_alone(config: Config) -> bool:
    return bool(_MCP.enabled(config)) and not any(each.enabled(config) for each in _LOOPS)


def _check_a2a(config: Config, broker: Broker) -> None:
    a2a = config.expose.agent.a2a
    if a2a is None:
        return
    if not (a2a.serve_tools or a2a.prompts is not None or a2a.request_timeout):
        raise ConfigError(
            "expose.agent.a2a enables nothing: set serve_tools: true to answer tool requests, add a"
            " prompts block to answer prompts, or set request_timeout alone to bound the requests"
            " this agent sends",
            key="expose.agent.a2a",
        )
    if a2a.serve_tools or a2a.prompts is not None:
        _require_broker(config, _PROMPTS if a2a.prompts is not None else _SERVE_TOOLS, broker)


def _require_all(config: Config, endpoint: _Endpoint, broker: Broker) -> None:
    if not endpoint.enabled(config):
        return
    when = f"when expose.agent.{endpoint.block} is set"
    if endpoint.needs_application and not config.application_path:
        raise ConfigError(
            f"application_path is required {when}: no built-in tool declares a2a exposure, so"
            " without an application there would be nothing to serve",
            key="application_path",
        )
    if not config.named_identity:
        raise ConfigError(
            f"identity is required {when}: {endpoint.keys}, so it must be a name you chose rather"
            " than one derived from the application or left at the default",
            key="identity",
        )
    if endpoint.runs_loop:
        _require_prompt(config, when)
        _require_model(config, when)
    _require_broker(config, endpoint, broker)


def _require_broker(config: Config, endpoint: _Endpoint, broker: Broker) -> None:
    if broker is Broker.NAMED and not endpoint.context(config):
        either = ", either at the top level or under the block" * (endpoint is _JOBS)
        raise ConfigError(
            f"nats_context is required when expose.agent.{endpoint.block} is set{either}: it is the"
            " connection this agent answers on; name a context, or set FISK_AI_NATS_URL",
            key="nats_context",
        )


def _require_peers(config: Config, broker: Broker) -> None:
    if config.remote_tools and broker is Broker.NAMED and not config.nats_context:
        raise ConfigError(
            "nats_context is required when remote_tools is set: it is the connection their agents"
            " are asked on; name a context, or set FISK_AI_NATS_URL",
            key="nats_context",
        )


def _require_shared_sessions(config: Config, broker: Broker) -> None:
    """Another worker would find no journal and begin a new conversation without a word."""
    if config.harness.sessions.backend != "file" or broker is Broker.EMBEDDED:
        return
    for endpoint in (_JOBS, _SLACK):
        if endpoint.enabled(config):
            raise ConfigError(
                f'harness.sessions.backend is "file" but expose.agent.{endpoint.block} lets any'
                " worker continue a run: set it to jetstream, or use --embedded-broker",
                key="harness.sessions.backend",
            )


def _require_prompt(config: Config, when: str) -> None:
    if not config.system_prompt.strip():
        raise ConfigError(
            f"system_prompt is required {when}: it tells the model what it is for",
            key="system_prompt",
        )


def _require_model(config: Config, when: str) -> None:
    if not config.llm.model:
        raise ConfigError(
            f"llm.model is required {when}: name the model to ask, such as claude-sonnet-5",
            key="llm.model",
        )


_AGENT: Final = (_require_peers, _require_own_prompt, _require_job_broker, _require_own_model)
