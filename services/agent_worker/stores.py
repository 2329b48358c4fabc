"""Where an agent keeps its sessions and its memories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fisk_ai.config import Config
from fisk_ai.memory.store import MemoryConfig, MemoryStore
from fisk_ai.sessions import choice
from fisk_ai.sessions import store as sessions


def session_store(
    config: Config, state_dir: Path | None, environ: Mapping[str, str]
) -> sessions.Store:
    """Open the session store that the configuration or ``--state-dir`` names.

    Raises:
        ConfigError, SetupError: it cannot be used.
    """
    declared = config.harness.sessions
    return choice.open_store(
        declared.backend,
        declared.options,
        state_dir=str(state_dir) if state_dir is not None else None,
        base=config.base,
        environ=environ,
    )


def memory_store(config: Config) -> MemoryStore | None:
    """Open the memory store that the configuration names; ``None`` while memory is off.

    Raises:
        ConfigError, SetupError: it cannot be used.
    """
    declared = config.harness.memory
    if not declared.enabled:
        return None
    # Here, for workers without memory; from there, so that the backends are registered.
    from fisk_ai.memory.builtin import store  # noqa: PLC0415

    return store.new(
        declared.backend,
        MemoryConfig(
            identity=config.identity,
            options=declared.options,
            base=config.base,
        ),
    )
