"""What ``fisk-ai run`` reads of the store: the session to resume, and whether one came about."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from fisk_ai.cli.handles import SCRIPTED, FinishedError, Handle, find_handle
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.stores import configured_store
from fisk_ai.config import Config
from fisk_ai.errors import SetupError, StoreError
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store


async def find(
    flags: RunFlags, config: Config, environ: Mapping[str, str], *, chat: bool
) -> Handle:
    """Look up what ``--resume`` names; a finished session's answer is printed once more.

    A ``chat`` goes on with a finished session: a person types the next prompt.

    Raises:
        FiskError: the store cannot be used, or as :func:`find_handle`.
    """
    store = _store(flags, config, environ)
    try:
        scripted = config.llm.provider == SCRIPTED
        return await find_handle(store, flags.resume or "", scripted=scripted, chat=chat)
    except FinishedError as exc:
        view = LineView(sys.stdout, sys.stderr, LineOptions(no_color=flags.no_color))
        view.answer(answer_of(exc.messages))
        raise


async def stored(
    session_id: str, *, flags: RunFlags, config: Config, environ: Mapping[str, str]
) -> RunState | None:
    """Return what the session of a run says; ``None`` where there is none that can be read."""
    try:
        return await _store(flags, config, environ, read_only=True).load(session_id)
    except (StoreError, SetupError):
        return None


def _store(
    flags: RunFlags, config: Config, environ: Mapping[str, str], *, read_only: bool = False
) -> Store:
    return configured_store(
        config,
        state_dir=flags.state_dir,
        root_dir=flags.root_dir,
        environ=environ,
        read_only=read_only,
    )
