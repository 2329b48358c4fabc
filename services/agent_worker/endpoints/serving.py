"""Which endpoints a worker has, and in which order they are there.

The card and the tools come first: an agent answers for its own commands before it takes prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_worker.channels.prompts import PromptsChannel
from agent_worker.endpoints.card import CardEndpoint
from agent_worker.endpoints.tools import ToolsEndpoint, descriptors, exposed, terms_of
from agent_worker.resources import Built
from fisk_ai.a2a.cards import build_card
from fisk_ai.bus.service import Service
from fisk_ai.config import Config
from fisk_ai.errors import ConfigError
from fisk_ai.serving.contract import Channel
from fisk_ai.serving.contract import Service as ServedService
from fisk_ai.version import __version__


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What one worker answers on; ``service`` is its micro service."""

    service: Service
    card: CardEndpoint
    tools: ToolsEndpoint | None
    prompts: PromptsChannel | None

    @classmethod
    def of(cls, config: Config, built: Built, service: Service, *, human_paced: bool) -> Endpoints:
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
        prompts = None
        if answers and built.stores is not None:
            prompts = PromptsChannel(
                config,
                built.connection,
                service,
                built.stores.sessions,
                human_paced=human_paced,
            )
        tools = ToolsEndpoint(served, terms_of(config)) if served else None
        return cls(service, CardEndpoint(card), tools, prompts)

    @property
    def channels(self) -> list[Channel]:
        """What brings work."""
        return [self.prompts] if self.prompts is not None else []

    @property
    def services(self) -> list[ServedService]:
        """What answers and brings none."""
        return [self.tools] if self.tools is not None else []

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

    async def start_prompts(self) -> None:
        """Register what brings work; raises as :meth:`start_answering`."""
        if self.prompts is not None:
            await self.prompts.start()

    async def stop(self) -> None:
        """Leave every subject; twice is harmless."""
        await self.service.stop()
