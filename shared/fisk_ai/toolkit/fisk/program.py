"""Which program a configuration wraps, and where it is."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import SetupError
from fisk_ai.toolkit.fisk.misread import advice

if TYPE_CHECKING:
    from fisk_ai.config import Config  # loads pydantic, which running commands does not need


def resolve_application(config: Config, environ: Mapping[str, str]) -> Path | None:
    """Return the absolute path of the application; ``None`` when none is configured.

    A bare name is looked for on ``PATH`` and then beside the running interpreter, where the
    console scripts of its virtual environment are. A relative path with a slash starts at the
    folder of the configuration file.

    Raises:
        SetupError: a bare name is in neither place, or the path is evidently meant in another way.
    """
    configured = config.application_path
    if not configured:
        return None
    places = (environ.get("PATH", os.defpath), str(Path(sys.executable).parent))
    if "/" in configured:
        path = Path(os.path.abspath(config.directory / configured))  # noqa: PTH100 - no symlink is followed
        meant = "" if os.path.lexists(path) else advice(configured, config.directory, places)
        if meant:
            raise SetupError(
                f'application_path: "{configured}" is not there: {meant}', key="application_path"
            )
        return path
    for place in places:
        found = shutil.which(configured, path=place)
        if found is not None:
            return Path(found).absolute()
    meant = advice(configured, config.directory, places) or "install it or write a path"
    raise SetupError(
        f'application_path: "{configured}" is neither on PATH nor beside the running Python; '
        f"{meant}",
        key="application_path",
    )
