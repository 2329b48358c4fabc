"""Process settings from the environment: they belong to a host, never to an agent.

Read once and strictly. The library behind them takes longer to import than a file takes to be read,
so nothing imports this module before the application has been asked to describe itself.
Table: ``docs/reference/serving.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from fisk_ai.config import parse_duration
from fisk_ai.config.scalar import quote
from fisk_ai.errors import ConfigError
from fisk_ai.llm import credentials
from fisk_ai.llm.anthropic.base_url import BASE_URL
from fisk_ai.serving.health import parse_address

START_TIMEOUT_S: Final = 60.0
"""How long a start waits for the broker where no person is looking."""

DRAIN_TIMEOUT_S: Final = 600.0
"""How long running work may take to reach a boundary: twice what a tool may take by default."""

PREFIX: Final = "FISK_AI_"
_OF_OTHERS: Final = ("NATS_SERVER", "STORE_DIR", "MCP_PORT", "MCP_ADDRESS", "CALL", "FAULT")
"""Names that other processes of ours read; this one may well inherit them."""

_LEVELS: Final = ("debug", "info", "warning", "error")
_FORMATS: Final = ("text", "json")


def _word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _level(value: object) -> object:
    if _word(value) not in ("", *_LEVELS):
        raise ValueError(f"must be one of {', '.join(_LEVELS)}")
    return _word(value)


def _format(value: object) -> object:
    if _word(value) not in ("", *_FORMATS):
        raise ValueError(f"must be {' or '.join(_FORMATS)}")
    return _word(value)


def _address(value: object) -> object:
    if value:
        parse_address(str(value))
    return value


def _list(value: object) -> object:
    """Keep a blank entry: whoever checks the list refuses it, dropping it would hide a slip."""
    return tuple(entry.strip() for entry in value.split(",")) if isinstance(value, str) else value


def _duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        seconds = parse_duration(value.strip())
    except ConfigError as exc:
        raise ValueError("must be a duration such as 60s") from exc
    if seconds <= 0:
        raise ValueError("must be greater than zero")
    return seconds


class Settings(BaseSettings):
    """What this process was told by its environment; ``unknown`` are names nobody reads."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    nats_url: SecretStr = SecretStr("")
    nats_creds: str = ""
    nats_inbox_prefix: str = ""
    inbox_prefixes: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_list)] = ()
    log_level: Annotated[str, BeforeValidator(_level)] = ""
    log_format: Annotated[Literal["", "text", "json"], BeforeValidator(_format)] = ""
    health_address: Annotated[str, BeforeValidator(_address)] = ""
    start_timeout: Annotated[float, BeforeValidator(_duration)] = START_TIMEOUT_S
    drain_timeout: Annotated[float, BeforeValidator(_duration)] = DRAIN_TIMEOUT_S
    api_key: SecretStr = Field(default=SecretStr(""), validation_alias=credentials.KEY)
    base_url: str = Field(default="", validation_alias=BASE_URL)
    unknown: tuple[str, ...] = Field(default=(), validation_alias="unknown")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Leave the environment to :func:`read`, which is told which one."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


class _Environment(EnvSettingsSource):
    """Reads the mapping it is given, where the library's own source reads the process's."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        super().__init__(Settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        """Return what is set and not blank; names count in capitals only, as they are listed."""
        return {
            name.lower(): text.strip()
            for name, text in self._environ.items()
            if text.strip() and name.isupper()
        }


def read(environ: Mapping[str, str]) -> Settings:
    """Read every setting of this process.

    Raises:
        ConfigError: a value that cannot be one; names the variable.
    """
    values = _Environment(environ)()
    values[credentials.KEY] = credentials.api_key(environ)
    values["unknown"] = _unknown(environ)
    try:
        settings = Settings(**values)
    except ValidationError as exc:
        raise _refused(exc, environ) from exc
    return settings


def _unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    fields = Settings.model_fields.items()
    names = (name.upper() for name, field in fields if field.validation_alias is None)
    known = {f"{PREFIX}{name}" for name in (*names, *_OF_OTHERS)}
    ours = (name for name in environ if name.startswith(PREFIX))
    return tuple(sorted(name for name in ours if name not in known))


def _refused(exc: ValidationError, environ: Mapping[str, str]) -> ConfigError:
    error = exc.errors(include_url=False)[0]
    name = f"{PREFIX}{str(error['loc'][0]).upper()}"
    reason = error["msg"].removeprefix("Value error, ")
    return ConfigError(f"{name} {reason}, got {quote(environ.get(name, ''))}", key=name)
