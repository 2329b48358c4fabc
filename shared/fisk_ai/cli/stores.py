"""Which session store a command reads: the one its flags and configuration name.

The worker resolves the same flags in the same way; a test holds the two together. Without a
configuration the file store is used and nothing of the configuration code is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import ConfigError
from fisk_ai.sessions import builtin as _builtin
from fisk_ai.sessions import store as sessions

if TYPE_CHECKING:
    from fisk_ai.config import Config

FILE_BACKEND = "file"
BACKENDS = _builtin
"""Imported so that the backends are registered."""


def root_directory(flag: str | None, written: str = "") -> Path | None:
    """Return the base of relative paths: ``--root-dir`` before the file's value, else ``None``.

    Raises:
        ConfigError: it does not exist, is no directory, or the file's value is relative.
    """
    source = "--root-dir" if flag is not None else "root_directory"
    value = flag if flag is not None else written
    if not value:
        return None
    path = Path(value).absolute() if flag is not None else Path(value)
    if not path.is_absolute():
        raise ConfigError(f'{source} must be an absolute path, got "{value}"', key=source)
    if not path.exists():
        raise ConfigError(f'{source} "{path}" does not exist; create it before the run', key=source)
    if not path.is_dir():
        raise ConfigError(f'{source} "{path}" is not a directory', key=source)
    return path


def open_store(
    *,
    config_path: str | None,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
) -> sessions.Store:
    """Open the store of ``fisk-ai session``.

    Raises:
        ConfigError: the configuration cannot be used, or names another backend than the flags.
        SetupError: the store cannot be used.
    """
    if config_path is None:
        return _file_store(state_dir, root_directory(root_dir), environ)
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(config_path), Mode.LENIENT)
    return configured_store(config, state_dir=state_dir, root_dir=root_dir, environ=environ)


def configured_store(
    config: Config, *, state_dir: str | None, root_dir: str | None, environ: Mapping[str, str]
) -> sessions.Store:
    """Open the store that ``config`` names, with the flags' directories in place of its own.

    Raises:
        ConfigError, SetupError: as :func:`open_store`.
    """
    declared = config.harness.sessions
    base = root_directory(root_dir, config.root_directory)
    if state_dir:
        if declared.backend != FILE_BACKEND:
            raise ConfigError(
                "--state-dir applies only to the file session backend, but "
                f'harness.sessions.backend is "{declared.backend}": remove --state-dir, or set '
                'harness.sessions.backend to "file"',
                key="--state-dir",
            )
        return _file_store(state_dir, base, environ)
    options = sessions.StoreConfig(options=declared.options, store_dir=base, environ=environ)
    return sessions.new(declared.backend, options)


def _file_store(
    state_dir: str | None, base: Path | None, environ: Mapping[str, str]
) -> sessions.Store:
    options: dict[str, object] = {}
    if state_dir:
        options["directory"] = str(Path(state_dir).absolute())
    config = sessions.StoreConfig(options=options, store_dir=base, environ=environ)
    return sessions.new(FILE_BACKEND, config)
