"""Which store a process uses: the one its configuration names, with the flags' directories.

The terminal and the worker both choose here, so that they read and write one place. Takes plain
values: who lists sessions without a configuration loads nothing of its code.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import ConfigError
from fisk_ai.sessions.places import FILE_BACKEND, StoreConfig

if TYPE_CHECKING:
    from fisk_ai.sessions.store import Store


def needs_broker(backend: str) -> bool:
    """Say whether ``backend`` keeps sessions at a broker.

    Raises:
        ConfigError: an unknown backend.
    """
    # Here, for commands that only name the place; from there, so that the backends are registered.
    from fisk_ai.sessions.builtin import store  # noqa: PLC0415

    return store.needs_broker(backend)


def open_store(backend: str, written: StoreConfig, *, state_dir: str | None) -> Store:
    """Open the store of ``backend``; ``state_dir`` takes the place of its own directory.

    Whoever opened it calls its ``bind`` before anything else.

    Raises:
        ConfigError: an unknown backend or option, also beside a ``state_dir`` that replaces its
            directory, or a ``state_dir`` that it has no use for.
        SetupError: the place cannot be used.
    """
    from fisk_ai.sessions.builtin import store  # noqa: PLC0415 - as above

    if state_dir:
        if backend != FILE_BACKEND:
            raise ConfigError(
                "--state-dir applies only to the file session backend, but "
                f'harness.sessions.backend is "{backend}": remove --state-dir, or set '
                'harness.sessions.backend to "file"',
                key="--state-dir",
            )
        store.check(backend, written)
        written = replace(written, options={"directory": str(Path(state_dir).absolute())})
    return store.new(backend, written)
