"""The session store of a command: that of its configuration, or of this machine without one.

A command looks for sessions that are there; who begins one is the worker. So nothing is made here:
a directory that is not there holds no session, and is not there afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.sessions import choice
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import FILE_BACKEND, StoreConfig, root_directory

if TYPE_CHECKING:
    from fisk_ai.config import Config
    from fisk_ai.sessions.store import Store


def open_store(
    *,
    config_path: str | None,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
) -> Store:
    """Open the store of ``fisk-ai session``, which need not be fit for writing.

    Raises:
        ConfigError: the configuration cannot be used, or names another backend than the flags.
        SetupError: the store cannot be used.
    """
    if config_path is None:
        base = root_directory(root_dir)
        written = StoreConfig(store_dir=base, environ=environ, read_only=True)
        return choice.open_store(FILE_BACKEND, written, state_dir=state_dir)
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(config_path), Mode.LENIENT)
    return configured_store(config, state_dir=state_dir, root_dir=root_dir, environ=environ)


def configured_store(
    config: Config,
    *,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
) -> Store:
    """Open the store that ``config`` names, with the flags' directories in place of its own.

    Raises:
        ConfigError, SetupError: as :func:`open_store`.
    """
    from fisk_ai.config.standing import refuse_unbuilt  # noqa: PLC0415 - whoever has a config

    refuse_unbuilt(config, below="harness.sessions")
    declared = config.harness.sessions
    with config.placing():
        written = StoreConfig(
            options=declared.options,
            store_dir=root_directory(root_dir, config.root_directory),
            environ=environ,
            read_only=True,
        )
        return choice.open_store(declared.backend, written, state_dir=state_dir)


def session_directory(
    *,
    config_path: str | None,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
) -> Path | None:
    """Return where ``fisk-ai session`` finds its files; ``None`` for a backend without any.

    Raises:
        ConfigError: as :func:`open_store`.
    """
    if config_path is None:
        options = {"directory": str(Path(state_dir).absolute())} if state_dir else {}
        base = root_directory(root_dir)
        return directory_of(StoreConfig(options=options, store_dir=base, environ=environ))
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(config_path), Mode.LENIENT)
    directory = configured_directory(config, root_dir=root_dir, environ=environ)
    return Path(state_dir).absolute() if state_dir else directory


def configured_directory(
    config: Config, *, root_dir: str | None, environ: Mapping[str, str]
) -> Path | None:
    """Return where the sessions of ``config`` are; ``None`` for a backend without files.

    Raises:
        ConfigError: an option that its backend does not take, or a base that is no directory.
    """
    declared = config.harness.sessions
    if declared.backend != FILE_BACKEND:
        return None
    with config.placing():
        base = root_directory(root_dir, config.root_directory)
        return directory_of(StoreConfig(options=declared.options, store_dir=base, environ=environ))
