"""Where the file names a broker: by a NATS context, never by an address, which may hold a password.

Rules: ``docs/reference/configuration.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fisk_ai.config.model import Config
from fisk_ai.errors import ConfigError

_ADDRESS: Final = re.compile(r"://|:[^@]*@")


def check_contexts(config: Config) -> None:
    """Refuse an address in place of a context; nothing of it is repeated.

    Raises:
        ConfigError: with its key.
    """
    for key, written in _contexts(config):
        if _ADDRESS.search(written):
            raise ConfigError(
                f"{key} holds an address: name one of the contexts that 'nats context ls' lists,"
                " which keep addresses and credentials, or set FISK_AI_NATS_URL",
                key=key,
            )


def _contexts(config: Config) -> Iterator[tuple[str, str]]:
    """Yield every key that names a context, with what is written there."""
    yield "nats_context", config.nats_context
    harness = config.harness
    for name, block in (("sessions", harness.sessions), ("memory", harness.memory)):
        named = block.options.get("nats_context")
        yield f"harness.{name}.options.nats_context", str(named or "")
    if (jobs := config.expose.agent.jobs) is not None:
        yield "expose.agent.jobs.nats_context", jobs.nats_context
