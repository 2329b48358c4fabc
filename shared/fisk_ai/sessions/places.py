"""What flags and configuration say of where sessions are kept; needs no store and imports none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import ConfigError

if TYPE_CHECKING:
    from fisk_ai.bus.jetstream import JetStream
    from fisk_ai.sessions.presence import Presence

FILE_BACKEND = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """What a backend may need; ``store_dir`` is the base of relative paths, when there is one.

    ``read_only`` says that nothing will be written, so the place need not be fit for it. ``js`` is
    the broker of those who opened one, ``identity`` the agent whose sessions these are.
    ``presence`` answers for sessions that are held; without one that happens where they are kept.
    """

    options: Mapping[str, object] = field(default_factory=dict[str, object])
    store_dir: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    read_only: bool = False
    js: JetStream | None = None
    identity: str = ""
    presence: Presence | None = None


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
