"""Where session files are kept.

Never in the working directory unless it was asked for: conversations and their tokens would end up
in whatever is checked in or served from there. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fisk_ai import options
from fisk_ai.sessions.places import StoreConfig

OPTIONS_KEY = "harness.sessions.options"
"""Where the options stand in a configuration."""

OPTION_KEY = f"{OPTIONS_KEY}.directory"
"""What to change when the place is wrong."""


def directory_of(config: StoreConfig) -> Path:
    """Return where sessions are kept: never the working directory unless it was asked for.

    Raises:
        ConfigError: an option that this backend does not take.
    """
    option = options.directory("file session", config.options, key=OPTIONS_KEY)
    if option:
        return (config.store_dir or Path()) / option
    if config.store_dir is not None:
        return config.store_dir / "runs"
    return state_directory(config.environ) / "runs"


def state_directory(environ: Mapping[str, str]) -> Path:
    """Return where this user's agents keep what no flag and no file gives another place."""
    return _state_home(environ) / "fisk-ai"


def _state_home(environ: Mapping[str, str]) -> Path:
    configured = Path(environ.get("XDG_STATE_HOME", ""))
    if configured.is_absolute():
        return configured
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return home / ".local" / "state"
