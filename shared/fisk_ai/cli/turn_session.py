"""The session of a turn that was set aside, read from where its agent keeps sessions."""

from __future__ import annotations

import os

from fisk_ai.a2a.durable.turn import Turn
from fisk_ai.cli.stores import configured_store
from fisk_ai.config import Config
from fisk_ai.errors import EmptyError, NotFoundError
from fisk_ai.sessions.state import RunState


async def state_of(config: Config, turn: Turn) -> RunState | None:
    """Return the session as it stands; ``None`` where the turn never began one.

    Raises:
        ConfigError, SetupError: the store cannot be used.
        StoreError: the session cannot be read.
    """
    async with configured_store(config, state_dir=None, root_dir=None, environ=os.environ) as store:
        try:
            return await store.load(turn.session)
        except (NotFoundError, EmptyError):
            return None
