"""What a process needs of its configuration before it may start."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from fisk_ai.config import endpoints
from fisk_ai.config.context_rules import check_contexts
from fisk_ai.config.endpoints import Broker
from fisk_ai.config.import_rules import (
    CHARACTERS,
    IDENTITY,
    check_mcp_clients,
    check_remote_hosts,
)
from fisk_ai.config.model import Config
from fisk_ai.config.prepare import DEFAULT_IDENTITY
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

_OTHERS: Final = re.compile(r"[^a-zA-Z0-9_-]+")

SUGGESTED_LIMIT: Final = 40
"""Characters of an identity that is suggested: a name, never what was pasted by mistake."""


class Mode(StrEnum):
    """What a process will do with the file."""

    AGENT = "agent"
    """Runs the loop for one person, behind a broker of its own."""

    SERVE = "serve"
    """Answers whoever may reach the broker."""

    LENIENT = "lenient"
    """Reads sessions or describes the file; never asks a model."""


def validate(config: Config, mode: Mode, *, broker: Broker = Broker.NAMED) -> None:
    """Refuse a prepared configuration that ``mode`` could not work with.

    ``broker`` says where the process finds its broker when the file names none.

    Raises:
        ConfigError: the first thing missing, with its key and why it is needed.
    """
    if mode is Mode.AGENT:
        endpoints.require_agent(config, broker)
    if mode is Mode.SERVE:
        endpoints.require_served(config, broker)


def check_always(config: Config) -> None:
    """Refuse what no process could work with.

    Raises:
        ConfigError: the first such value, with its key.
    """
    if config.global_flags and not config.application_path:
        raise ConfigError(
            "global_flags is set but application_path is not: they are flags of the wrapped"
            " application; remove global_flags or set application_path",
            key="global_flags",
        )
    if not IDENTITY.fullmatch(config.identity):
        if " " in config.identity and not config.named_identity:
            raise _with_arguments(config)
        raise _invalid_identity(config.identity)
    check_contexts(config)
    check_remote_hosts(config)
    check_mcp_clients(config)


def _invalid_identity(identity: str) -> ConfigError:
    """Say what an identity may hold, and write out one that is near."""
    return ConfigError(
        f"identity {quote(identity)} is invalid: {CHARACTERS}, because it becomes part of the"
        f" agent's subjects; write identity: {_near(identity)}",
        key="identity",
    )


def _with_arguments(config: Config) -> ConfigError:
    """Say that a program stands alone; that a blank belongs to its name is less likely."""
    return ConfigError(
        f"application_path {quote(config.application_path)} gives the agent no valid identity: it"
        " takes the path of a program alone, so remove the arguments; if the blank belongs to the"
        f" program's name, write identity: {_near(config.identity)}",
        key="application_path",
    )


def _near(identity: str) -> str:
    return _OTHERS.sub("-", identity).strip("-")[:SUGGESTED_LIMIT] or DEFAULT_IDENTITY
