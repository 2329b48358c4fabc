"""The variables of this process: its environment, and what its starter handed over beside it.

The environment with which a process was started can be read by the commands that it runs, whatever
they are given of it. So a terminal hands secrets over in a file, see ``fisk_ai.secrecy``; an
operator's worker has its own from the environment.
"""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Mapping
from typing import cast

from fisk_ai import secrecy
from fisk_ai.errors import UsageError
from fisk_ai.toolkit.environment import BROKER_PREFIX


def read(secrets_fd: int | None) -> Mapping[str, str]:
    """Return every variable; those handed over are put before the environment's.

    They are in ``os.environ`` from now on, where libraries and functions of tools look for them,
    but for the way to the broker, which is for nobody but this worker.

    Raises:
        UsageError: ``secrets_fd`` is no file that was handed over.
    """
    if secrets_fd is None:
        return os.environ
    handed = _taken(secrets_fd)
    os.environ.update(
        {name: value for name, value in handed.items() if not name.startswith(BROKER_PREFIX)}
    )
    return ChainMap(handed, os.environ)


def _taken(descriptor: int) -> dict[str, str]:
    try:
        handed: object = json.loads(secrecy.take(descriptor))
    except (OSError, ValueError) as exc:
        raise UsageError(
            "--secrets-fd names no file that was handed over; leave it to whoever starts the worker"
        ) from exc
    if not isinstance(handed, dict):
        raise UsageError("what --secrets-fd holds is no object of variables")
    return cast("dict[str, str]", handed)
