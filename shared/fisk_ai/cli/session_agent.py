"""Which agent the deciding verbs of ``fisk-ai session`` speak to, over which broker, if to any.

A decision about a session at a broker goes over NATS: whoever could write there could forge one.
Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import UsageError

if TYPE_CHECKING:
    from fisk_ai.a2a.operator_client import OperatorClient
    from fisk_ai.config import Config

SENDER = "operator"
"""Who decides, as an agent is told: the broker knows who that is."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent by its name, and the context of its broker; empty for the broker of the variable."""

    identity: str
    context: str

    @asynccontextmanager
    async def reached(self) -> AsyncGenerator[OperatorClient]:
        """Connect to it for the length of the block.

        Raises:
            ConfigError, SetupError: the context cannot be used, or its broker not be reached.
        """
        from fisk_ai.a2a.operator_client import OperatorClient  # noqa: PLC0415 - the NATS client
        from fisk_ai.bus import contexts  # noqa: PLC0415 - likewise
        from fisk_ai.bus.connection import connect  # noqa: PLC0415 - likewise

        purpose = f"operator of {self.identity}"
        options = contexts.from_environment(self.context, purpose, os.environ)
        connection = await connect(options)
        try:
            yield OperatorClient(connection, self.identity, SENDER)
        finally:
            await connection.drain()


def agent_of(arguments: argparse.Namespace) -> Agent | None:
    """Return the agent that the arguments address; ``None`` for sessions in files.

    Raises:
        ConfigError: the configuration cannot be used.
        UsageError: no agent is named, or one without a broker to find it at.
    """
    config = _config(arguments)
    context: str | None = arguments.nats_context
    if context is None and not _is_at_broker(config, arguments):
        if arguments.identity is not None:
            raise UsageError(
                "--identity only applies with --nats-context: it names the agent to address there",
                key="--identity",
            )
        return None
    identity = arguments.identity or (
        config.identity if config is not None and config.named_identity else ""
    )
    if not identity:
        raise UsageError(
            "--nats-context needs an agent to address: pass --identity NAME, or --config with a"
            " file that sets identity",
            key="--identity",
        )
    return Agent(identity, context or (config.nats_context if config is not None else ""))


def _config(arguments: argparse.Namespace) -> Config | None:
    if not arguments.config:
        return None
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    return load(Path(arguments.config), Mode.LENIENT)


def _is_at_broker(config: Config | None, arguments: argparse.Namespace) -> bool:
    if config is None or arguments.state_dir:
        return False
    from fisk_ai.sessions import choice  # noqa: PLC0415 - as above

    return choice.needs_broker(config.harness.sessions.backend)
