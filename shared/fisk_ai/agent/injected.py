"""Whether the stores a run was handed are those its configuration speaks of.

A file that names a backend is believed by whoever reads it, so a host that injects another one is
refused. A backend nobody named is a default and binds nobody.
"""

from __future__ import annotations

from fisk_ai.agent.checkpoint import journals
from fisk_ai.agent.options import RunOptions
from fisk_ai.config import Config
from fisk_ai.errors import SetupError


def require_fit(options: RunOptions) -> None:
    """Refuse a store that is missing or another than the file declares.

    Raises:
        SetupError: names the option, the store's backend, the file, its key and what it declares.
    """
    config, memory = options.config, options.config.harness.memory
    if memory.enabled:
        if options.memory_store is None:
            raise SetupError(
                f'"{config.source}" enables harness.memory and the run was given no memory_store',
                key="harness.memory",
            )
        if memory.declared:
            running = options.memory_store.info().backend
            _require_same(config, "memory_store", running, "harness.memory.backend", memory.backend)
    sessions = config.harness.sessions
    if sessions.declared and journals(options.checkpoint):
        running = options.session_store.info().backend
        _require_same(
            config, "session_store", running, "harness.sessions.backend", sessions.backend
        )


def _require_same(config: Config, option: str, running: str, key: str, declared: str) -> None:
    if running != declared:
        raise SetupError(
            f'{option} runs on the backend "{running}", and "{config.source}" sets {key} to '
            f'"{declared}"; give the run that store or change the key',
            key=key,
        )
