"""What ``fisk-ai run`` reads of the store: the session to resume, and whether one came about."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from fisk_ai.agent.fingerprints import fingerprint_of
from fisk_ai.cli.handles import SCRIPTED, FinishedError, Handle, find_handle
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.stores import configured_directory, configured_store
from fisk_ai.config import Config
from fisk_ai.errors import DriftError, RefusedError, SetupError, StoreError
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.questions import NAME_LIMIT, person_present
from fisk_ai.sessions import fingerprint
from fisk_ai.sessions.fold import answer_of
from fisk_ai.sessions.records import CallApproval
from fisk_ai.sessions.state import RunState
from fisk_ai.sessions.store import Store
from fisk_ai.text.sanitise import for_terminal

PATH_LIMIT = 400
"""Code points of a directory's name in a sentence."""


async def find(
    flags: RunFlags, config: Config, environ: Mapping[str, str], *, chat: bool
) -> Handle:
    """Look up what ``--resume`` names; a finished session's answer is printed once more.

    A ``chat`` goes on with a finished session: a person types the next prompt.

    Raises:
        FiskError: the store cannot be used, or as :func:`find_handle`.
    """
    try:
        async with _store(flags, config, environ) as store:
            handle = await find_handle(
                store,
                flags.resume or "",
                identity=config.identity,
                scripted=config.llm.provider == SCRIPTED,
                chat=chat,
            )
    except FinishedError as exc:
        view = LineView(sys.stdout, sys.stderr, LineOptions(no_color=flags.no_color))
        view.answer(answer_of(exc.messages))
        raise
    if handle.state is None:
        raise _unknown(flags, config, environ)
    if not flags.force:
        _refuse_drift(handle.state, config)
    _say_lost(handle.state.one_shot_approvals.values())
    return handle


def _refuse_drift(state: RunState, config: Config) -> None:
    """Refuse a changed configuration before anybody typed a prompt for it.

    What only the agent knows, its provider and its tools, it compares itself.

    Raises:
        DriftError: names every difference that ``--force`` crosses.
    """
    stored = state.meta.fingerprint
    current = fingerprint_of(config, provider=stored.provider)
    lines = fingerprint.compare(stored, current).blocking
    if lines:
        raise DriftError(
            f"the configuration changed since this conversation began: {'; '.join(lines)}; pass "
            "--force to go on with the new one, or restore it",
            lines=lines,
        )


def _say_lost(approvals: Iterable[CallApproval]) -> None:
    """Say that recorded approvals do not count where nobody can be asked."""
    if person_present(sys.stdin, sys.stderr):
        return
    for approval in approvals:
        print(
            f'warning: the approval of "{for_terminal(approval.tool_name, NAME_LIMIT)}" does not '
            "count, because nobody can be asked here; resume the session at a terminal instead",
            file=sys.stderr,
        )


async def stored(
    session_id: str, *, flags: RunFlags, config: Config, environ: Mapping[str, str]
) -> RunState | None:
    """Return what the session of a run says; ``None`` where there is none that can be read."""
    try:
        async with _store(flags, config, environ) as store:
            return await store.load(session_id)
    except (StoreError, SetupError):
        return None


def _unknown(flags: RunFlags, config: Config, environ: Mapping[str, str]) -> RefusedError:
    """Return the refusal of a handle that names nothing in the store that the worker would open.

    It names the directory; a handle may be a token and is not repeated.
    """
    place = Path(flags.state_dir) if flags.state_dir else None
    if place is None:
        place = configured_directory(config, root_dir=flags.root_dir, environ=environ)
    where = ""
    if place is not None:
        state = "holds none" if place.exists() else "does not exist"
        where = f": the session directory {for_terminal(str(place.absolute()), PATH_LIMIT)} {state}"
    return RefusedError(
        f"there is no conversation by that name{where}; resume where it was begun, or name its "
        "directory with --state-dir; 'fisk-ai session ls' lists what there is",
        key="--resume",
    )


def _store(
    flags: RunFlags, config: Config, environ: Mapping[str, str]
) -> AbstractAsyncContextManager[Store]:
    return configured_store(
        config, state_dir=flags.state_dir, root_dir=flags.root_dir, environ=environ
    )
