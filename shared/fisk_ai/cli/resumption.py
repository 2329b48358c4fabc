"""What ``fisk-ai run --resume`` reads before anything is started: the session and how it stands."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from fisk_ai.cli.handles import FinishedError, Handle, find_handle
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.stores import configured_store
from fisk_ai.config import Config
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.sessions.fold import answer_of


async def find(flags: RunFlags, config: Config, environ: Mapping[str, str]) -> Handle:
    """Look up what ``--resume`` names; a finished session's answer is printed once more.

    Raises:
        FiskError: the store cannot be used, or as :func:`find_handle`.
    """
    store = configured_store(
        config, state_dir=flags.state_dir, root_dir=flags.root_dir, environ=environ
    )
    try:
        return await find_handle(store, flags.resume or "")
    except FinishedError as exc:
        view = LineView(sys.stdout, sys.stderr, LineOptions(no_color=flags.no_color))
        view.answer(answer_of(exc.messages))
        raise
