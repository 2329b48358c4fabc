"""Process settings from the environment: they belong to a host, never to an agent.

Read once and strictly. A plain dataclass and not a settings library, whose import alone would take
longer than everything else in the start of a hosted run. Table: ``docs/reference/serving.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from fisk_ai.config import parse_duration
from fisk_ai.errors import ConfigError, NotBuiltError
from fisk_ai.llm.anthropic.base_url import BASE_URL
from fisk_ai.llm.credentials import api_key

LogFormat = Literal["text", "json"]
_LEVELS = ("debug", "info", "warning", "error")

START_TIMEOUT_S: Final = 60.0
"""How long a start waits for the broker where no person is looking."""

HOSTED_START_TIMEOUT_S: Final = 5.0
"""The same where a person is."""

_PREFIX: Final = "FISK_AI_"
_KNOWN: Final = frozenset(
    _PREFIX + name
    for name in (
        "NATS_URL",
        "NATS_CREDS",
        "NATS_INBOX_PREFIX",
        "NATS_SERVER",
        "INBOX_PREFIXES",
        "LOG_LEVEL",
        "LOG_FORMAT",
        "HEALTH_ADDRESS",
        "START_TIMEOUT",
        "STORE_DIR",
        "MCP_PORT",
        "MCP_ADDRESS",
        "CALL",
        "FAULT",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What this process was told by its environment; ``unknown`` are names nobody reads."""

    nats_url: str = field(default="", repr=False)
    nats_creds: str = ""
    inbox_prefix: str = "_INBOX"
    accepted_prefixes: tuple[str, ...] = ()
    log_level: str = ""
    log_format: LogFormat = "text"
    start_timeout_s: float = START_TIMEOUT_S
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    unknown: tuple[str, ...] = ()


def read(environ: Mapping[str, str]) -> Settings:
    """Read every setting of this process.

    Raises:
        ConfigError: a value that cannot be one; names the variable.
        NotBuiltError: a setting of a later release.
    """
    if environ.get("FISK_AI_HEALTH_ADDRESS"):
        raise NotBuiltError(
            "FISK_AI_HEALTH_ADDRESS is not built yet; unset it", key="FISK_AI_HEALTH_ADDRESS"
        )
    return Settings(
        nats_url=environ.get("FISK_AI_NATS_URL", "").strip(),
        nats_creds=environ.get("FISK_AI_NATS_CREDS", "").strip(),
        inbox_prefix=environ.get("FISK_AI_NATS_INBOX_PREFIX", "").strip() or "_INBOX",
        accepted_prefixes=_list(environ.get("FISK_AI_INBOX_PREFIXES", "")),
        log_level=_log_level(environ.get("FISK_AI_LOG_LEVEL", "")),
        log_format=_log_format(environ.get("FISK_AI_LOG_FORMAT", "")),
        start_timeout_s=_start_timeout(environ.get("FISK_AI_START_TIMEOUT", "")),
        api_key=api_key(environ),
        base_url=environ.get(BASE_URL, "").strip(),
        unknown=_unknown(environ),
    )


def _unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    ours = (name for name in environ if name.startswith(_PREFIX))
    return tuple(sorted(name for name in ours if name not in _KNOWN))


def _list(value: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in value.split(",")) if value.strip() else ()


def _log_level(value: str) -> str:
    level = value.strip().lower()
    if level and level not in _LEVELS:
        known = ", ".join(_LEVELS)
        raise ConfigError(
            f'FISK_AI_LOG_LEVEL must be one of {known}, got "{value}"', key="FISK_AI_LOG_LEVEL"
        )
    return level


def _log_format(value: str) -> LogFormat:
    match value.strip().lower():
        case "" | "text":
            return "text"
        case "json":
            return "json"
        case _:
            raise ConfigError(
                f'FISK_AI_LOG_FORMAT must be text or json, got "{value}"', key="FISK_AI_LOG_FORMAT"
            )


def _start_timeout(value: str) -> float:
    if not value.strip():
        return START_TIMEOUT_S
    try:
        seconds = parse_duration(value.strip())
    except (ConfigError, ValueError) as exc:
        raise ConfigError(
            f'FISK_AI_START_TIMEOUT must be a duration such as 60s, got "{value}"',
            key="FISK_AI_START_TIMEOUT",
        ) from exc
    if seconds <= 0:
        raise ConfigError(
            f'FISK_AI_START_TIMEOUT must be greater than zero, got "{value}"',
            key="FISK_AI_START_TIMEOUT",
        )
    return seconds
