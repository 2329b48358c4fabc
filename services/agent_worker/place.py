"""Where a worker was started, and at which broker it serves therefore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_worker.arguments import Arguments
from fisk_ai.bus import contexts
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.config import Config
from fisk_ai.errors import SetupError

if TYPE_CHECKING:
    from agent_worker.settings import Settings

URL_VARIABLE = "FISK_AI_NATS_URL"

HOSTED_START_TIMEOUT_S = 5.0
"""How long the broker is waited for where a person is looking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where this worker was started: its command line and its environment."""

    arguments: Arguments
    environ: Mapping[str, str]


def connection_options(config: Config, place: Place, settings: Settings) -> ConnectOptions:
    """Return where this worker serves: at the named context, else at the address it was given.

    A hosted worker serves its own terminal, whatever the file names.

    Raises:
        ConfigError, SetupError: the context cannot be used, or there is neither.
    """
    arguments, name = place.arguments, config.nats_context
    named = bool(name) and not arguments.hosted
    url = settings.nats_url.get_secret_value()
    if named and (contexts.exists(name, place.environ) or not url):
        options = contexts.load(name, place.environ).options(config.identity)
    elif url:
        options = ConnectOptions(url, config.identity, creds=settings.nats_creds)
    else:
        raise SetupError(
            f"no broker was named; set nats_context in the configuration, or {URL_VARIABLE} to "
            "nats://host:port",
            key=URL_VARIABLE,
        )
    timeout_s = HOSTED_START_TIMEOUT_S if arguments.hosted else settings.start_timeout
    return replace(
        options,
        inbox_prefix=settings.nats_inbox_prefix or options.inbox_prefix,
        connect_timeout_s=timeout_s,
        accepted_prefixes=settings.inbox_prefixes,
    )
