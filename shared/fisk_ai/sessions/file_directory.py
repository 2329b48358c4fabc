"""Where session files are kept.

Never in the working directory unless it was asked for: conversations and their tokens would end up
in whatever is checked in or served from there. Rules: ``docs/reference/sessions.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from fisk_ai import options
from fisk_ai.sessions.places import StoreConfig

OPTIONS_KEY = "harness.sessions.options"
"""Where the options stand in a configuration."""

OPTION_KEY = f"{OPTIONS_KEY}.directory"
"""What to change when the place is wrong."""

_WHAT = "file session"


class FileOptions(msgspec.Struct, frozen=True):
    """The options of this backend; ``directory`` empty stands for a place of its own."""

    directory: str = ""


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


def _directory_option(written: Mapping[str, object]) -> str:
    directory = options.decode(_WHAT, written, FileOptions, key=OPTIONS_KEY).directory
    if "\0" in directory:
        reason = "directory must be a path"
        raise options.invalid(_WHAT, reason, key=OPTIONS_KEY, name="directory")
    return directory


def _state_home(environ: Mapping[str, str]) -> Path:
    configured = Path(environ.get("XDG_STATE_HOME", ""))
    if configured.is_absolute():
        return configured
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return home / ".local" / "state"
