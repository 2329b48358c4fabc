"""Which endpoints a worker has, and in which order they are there.

The card and the tools come first: an agent answers for its own commands before it takes prompts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_worker.arguments import Arguments
from agent_worker.channels.jobs import JobsChannel
from agent_worker.channels.prompts import PromptsChannel
from agent_worker.channels.turns import TurnsChannel
from agent_worker.endpoints.card import CardEndpoint
from agent_worker.endpoints.tools import ToolsEndpoint, descriptors, exposed, terms_of
from agent_worker.operators.endpoint import OperatorEndpoint
from agent_worker.resources import Built
from agent_worker.storage import Storage
from fisk_ai.a2a.cards import build_card
from fisk_ai.bus.service import Service
from fisk_ai.config import Config
from fisk_ai.config.expose import Jobs
from fisk_ai.errors import ConfigError
from fisk_ai.serving.contract import Channel
from fisk_ai.serving.contract import Service as ServedService
from fisk_ai.version import __version__

UntilPresent = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Repeats a start that found something absent."""


class StartedChannel(Channel, Protocol):
    """A channel that brings nothing until it is started."""

    async def start(self) -> None:
        """Let work come.

        Raises:
            AbsentError: what it is taken from is not there yet; nothing was begun, try again.
            FiskError: it cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What one worker answers on; ``service`` is its micro service."""

    service: Service
    card: CardEndpoint
    tools: ToolsEndpoint | None
    operator: OperatorEndpoint | None
    channels: Sequence[StartedChannel]

    @classmethod
    def of(cls, config: Config, built: Built, service: Service, arguments: Arguments) -> Endpoints:
        """Build what the configuration enables; nothing is registered yet.

        Raises:
            ConfigError: the card cannot be built, or no tool may be served.
        """
        a2a = config.expose.agent.a2a
        served = exposed(config, built.application.tools) if a2a and a2a.serve_tools else ()
        if a2a and a2a.serve_tools and not served:
            raise ConfigError(
                "no tools available to serve over a2a; all were filtered or need a confirmation",
                key="expose.agent.a2a.serve_tools",
            )
        answers = config.answers_prompts
        card = build_card(
            config, tools=descriptors(served), version=__version__, answers_prompts=answers
        )
        tools = ToolsEndpoint(served, terms_of(config, arguments.work_dir)) if served else None
        channels = _channels(config, built, service, arguments)
        operator = None if arguments.hosted else _operator(config, built, channels)
        return cls(service, CardEndpoint(card), tools, operator, channels)

    @property
    def services(self) -> list[ServedService]:
        """What answers and brings none."""
        return [each for each in (self.tools, self.operator) if each is not None]

    @property
    def names(self) -> list[str]:
        """The labels in logs."""
        return [each.name for each in (*self.channels, *self.services)]

    async def start_answering(self) -> None:
        """Register what answers for this agent's own commands.

        Raises:
            BusError: the broker did not take it.
        """
        await self.card.start(self.service)
        if self.tools is not None:
            await self.tools.start(self.service)

    async def start_channels(self, until_present: UntilPresent) -> None:
        """Let work come, channel by channel, each once what it needs is present.

        Raises:
            FiskError: as :meth:`StartedChannel.start`.
        """
        for channel in self.channels:
            await until_present(channel.start)
        if self.operator is not None:
            await self.operator.start(self.service)

    async def stop(self) -> None:
        """Leave every subject; twice is harmless."""
        await self.service.stop()


def _channels(
    config: Config, built: Built, service: Service, arguments: Arguments
) -> list[StartedChannel]:
    """Return what brings work, in the order in which it is started and released."""
    channels: list[StartedChannel] = []
    if built.stores is None:
        return channels
    if config.answers_prompts:
        sessions = built.stores.sessions
        channels.append(
            PromptsChannel(
                config,
                built.connection,
                service,
                sessions,
                human_paced=not arguments.no_operator,
                take_over=arguments.take_over,
            )
        )
    jobs = config.expose.agent.jobs
    if jobs is not None:
        channels.append(JobsChannel(config.identity, _typed(jobs, built.storage), built.storage))
    if config.expose.agent.slack is not None:
        sessions, storage = built.stores.sessions, built.storage
        channels.append(
            TurnsChannel(config, built.connection, lambda: storage.streams(""), sessions)
        )
    return channels


def _operator(
    config: Config, built: Built, channels: Sequence[StartedChannel]
) -> OperatorEndpoint | None:
    """Return what serves operators; ``None`` for an agent that runs nothing.

    A hosted agent has none: nobody but its terminal reaches it.
    """
    if built.stores is None:
        return None
    prompts = next((each for each in channels if isinstance(each, PromptsChannel)), None)
    turns = next((each for each in channels if isinstance(each, TurnsChannel)), None)
    return OperatorEndpoint(config.identity, built.stores.sessions, prompts=prompts, turns=turns)


def _typed(jobs: Jobs, storage: Storage) -> Jobs:
    """Return the block with what was typed in place of what is written."""
    workers = storage.place.arguments.job_workers
    return jobs if workers is None else jobs.model_copy(update={"workers": workers})
