"""The services of an agent: which there are, and which a configuration enables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fisk_ai.errors import NotBuiltError

if TYPE_CHECKING:
    from fisk_ai.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process of an agent; an empty ``module`` says that it is not built yet.

    ``enabled`` tells whether a configuration asks for it by ``key``, ``instead`` what there is in
    its place.
    """

    name: str
    module: str = ""
    key: str = "expose.agent"
    enabled: Callable[[Config], object]
    instead: str = ""

    def not_built(self) -> NotBuiltError:
        """Return the refusal of a service of a later release."""
        return NotBuiltError(
            f"{self.key} needs the service {self.name}, which is not built yet; {self.instead}",
            key=self.key,
        )


AGENT_WORKER: Final = "agent-worker"

SERVICES: Final = (
    Service(name=AGENT_WORKER, module="agent_worker", enabled=lambda _: True),
    Service(
        name="slack-gateway",
        key="expose.agent.slack",
        enabled=lambda config: config.expose.agent.slack is not None,
        instead=f"'fisk-ai serve {AGENT_WORKER}' serves the durable turns of a gateway elsewhere",
    ),
    Service(
        name="mcp-gateway",
        key="expose.agent.mcp",
        enabled=lambda config: config.expose.agent.mcp is not None,
        instead="remove the block",
    ),
    Service(
        name="knowledge-indexer",
        key="harness.knowledge",
        enabled=lambda config: config.harness.knowledge.enabled,
        instead="remove the block or set enabled: false",
    ),
)


def enabled(config: Config) -> tuple[Service, ...]:
    """Return what a configuration has a supervisor start.

    Raises:
        NotBuiltError: it asks for one that is not built.
    """
    wanted = tuple(service for service in SERVICES if service.enabled(config))
    for service in wanted:
        if not service.module:
            raise service.not_built()
    return wanted
