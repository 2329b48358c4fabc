"""What a process needs of its configuration before it may start."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from fisk_ai.config.model import Config
from fisk_ai.config.prepare import DEFAULT_IDENTITY
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError

IDENTITY: Final = re.compile(r"[a-zA-Z0-9_-]+")
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


def validate(config: Config, mode: Mode) -> None:
    """Refuse a prepared configuration that ``mode`` could not work with.

    Raises:
        ConfigError: the first thing missing, with its key and why it is needed.
    """
    if mode is Mode.AGENT:
        _require_prompt(config, "to run an agent")
        _require_model(config, "to run an agent")
    if mode is Mode.SERVE:
        _check_serve(config)


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


def _invalid_identity(identity: str) -> ConfigError:
    """Say what an identity may hold, and write out one that is near."""
    return ConfigError(
        f"identity {quote(identity)} is invalid: it must contain only letters, digits, '-' or '_',"
        f" because it becomes part of the agent's subjects; write identity: {_near(identity)}",
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


def _check_serve(config: Config) -> None:
    a2a = config.expose.agent.a2a
    if a2a is None:
        return
    if a2a.prompts is None:
        if not a2a.request_timeout_written:
            raise ConfigError(
                "expose.agent.a2a enables nothing: add a prompts block to answer prompts, or set"
                " request_timeout alone to bound the requests this agent sends",
                key="expose.agent.a2a",
            )
        return
    when = "when expose.agent.a2a.prompts is set"
    _require_name(config, when)
    _require_prompt(config, when)
    _require_model(config, when)


def _require_name(config: Config, when: str) -> None:
    if not config.named_identity:
        raise ConfigError(
            f"identity is required {when}: it keys the subjects this agent answers on, so it must"
            " be a name you chose rather than one derived from the application or left at the"
            " default",
            key="identity",
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
