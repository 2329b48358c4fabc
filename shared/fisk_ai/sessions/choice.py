"""Which store a process uses: the one its configuration names, with the flags' directories.

The terminal and the worker both choose here, so that they read and write one place. Takes plain
values: who lists sessions without a configuration loads nothing of its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import ConfigError
from fisk_ai.sessions.places import FILE_BACKEND, StoreConfig

if TYPE_CHECKING:
    from fisk_ai.sessions.store import Store


def open_store(
    backend: str,
    options: Mapping[str, object],
    *,
    state_dir: str | None,
    base: Path | None,
    environ: Mapping[str, str],
    read_only: bool = False,
) -> Store:
    """Open the store of ``backend``; ``state_dir`` takes the place of its own directory.

    Raises:
        ConfigError: an unknown backend or option, also beside a ``state_dir`` that replaces its
            directory, or a ``state_dir`` that it has no use for.
        SetupError: the place cannot be used.
    """
    # Here, for commands that only name the place; from there, so that the backends are registered.
    from fisk_ai.sessions.builtin import store  # noqa: PLC0415

    written = StoreConfig(options=options, store_dir=base, environ=environ, read_only=read_only)
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
