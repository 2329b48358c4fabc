"""Where session files are kept.

Never in the working directory unless it was asked for: conversations and their tokens would end up
in whatever is checked in or served from there. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fisk_ai.errors import ConfigError
from fisk_ai.sessions.places import StoreConfig

OPTION_KEY = "harness.sessions.options.directory"
"""What to change when the place is wrong."""


def directory_of(config: StoreConfig) -> Path:
    """Return where sessions are kept: never the working directory unless it was asked for.

    Raises:
        ConfigError: an option that this backend does not take.
    """
    option = _directory_option(config.options)
    if option:
        return (config.store_dir or Path()) / option
    if config.store_dir is not None:
        return config.store_dir / "runs"
    return _state_home(config.environ) / "fisk-ai" / "runs"


def _directory_option(options: Mapping[str, object]) -> str:
    for name in options:
        if name != "directory":
            raise ConfigError(
                f'invalid file session options: unknown key "{name}", the only one is "directory"',
                key=f"harness.sessions.options.{name}",
            )
    value = options.get("directory", "")
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError("invalid file session options: directory must be a path", key=OPTION_KEY)
    return value


def _state_home(environ: Mapping[str, str]) -> Path:
    configured = Path(environ.get("XDG_STATE_HOME", ""))
    if configured.is_absolute():
        return configured
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return home / ".local" / "state"
