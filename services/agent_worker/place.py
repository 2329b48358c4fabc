"""Where a worker was started, at which broker it serves therefore, and at which it stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_worker.arguments import Arguments
from fisk_ai.bus import contexts
from fisk_ai.bus.options import DEFAULT_INBOX, ConnectOptions
from fisk_ai.config import Config
from fisk_ai.errors import SetupError
from fisk_ai.text.sanitise import for_terminal

if TYPE_CHECKING:
    from agent_worker.settings import Settings

PATH_LIMIT = 400
"""Code points of a path in a sentence."""

HOSTED_START_TIMEOUT_S = 5.0
"""How long the broker is waited for where a person is looking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where this worker was started: its command line and its environment."""

    arguments: Arguments
    environ: Mapping[str, str]

    def context(self, name: str) -> str:
        """Return the context to use where the file names ``name``.

        None where the given broker stands for every context.
        """
        return "" if self.arguments.embedded else name


def require_work_directory(path: Path | None) -> None:
    """Refuse a directory in which no command could run.

    Raises:
        SetupError: it is relative, or no directory.
    """
    if path is None:
        return
    shown = for_terminal(str(path), PATH_LIMIT)
    if not path.is_absolute():
        raise SetupError(
            f'work directory "{shown}" is not an absolute path; write --work-dir in full',
            key="--work-dir",
        )
    if not path.is_dir():
        raise SetupError(
            f'work directory "{shown}" is not a directory; make it, or name another',
            key="--work-dir",
        )


def connection_options(config: Config, place: Place, settings: Settings) -> ConnectOptions:
    """Return where this worker serves: at the named context, else at the address it was given.

    A hosted worker serves its own terminal, whatever the file names.

    Raises:
        ConfigError, SetupError: the context cannot be used, or there is neither.
    """
    name = "" if place.arguments.hosted else place.context(config.nats_context)
    options = _bounded(_reached(name, config.identity, place, settings), place, settings)
    return replace(options, inbox_prefix=settings.nats_inbox_prefix or options.inbox_prefix)


def storage_options(
    context: str, config: Config, place: Place, settings: Settings
) -> ConnectOptions:
    """Return where this worker keeps what ``context`` is named for.

    The broker of a hosted worker is its terminal's own and keeps nothing, so that only a context
    counts there.

    Raises:
        ConfigError, SetupError: the context cannot be used, or there is none.
    """
    purpose = f"storage {config.identity}"
    if place.arguments.hosted:
        if not context:
            raise SetupError(
                "nats_context is required: harness.sessions or harness.memory is kept at a broker,"
                " and this run has none of its own that keeps anything",
                key="nats_context",
            )
        options = contexts.load(context, place.environ).options(purpose)
    else:
        options = _reached(place.context(context), purpose, place, settings)
    return _bounded(options, place, settings)


def jobs_options(context: str, config: Config, place: Place, settings: Settings) -> ConnectOptions:
    """Return where this worker takes jobs from: ``context``, else where the configuration says.

    Raises:
        ConfigError, SetupError: the context cannot be used, or there is none.
    """
    named = place.context(context or config.nats_context)
    return _bounded(_reached(named, f"jobs {config.identity}", place, settings), place, settings)


def _reached(name: str, purpose: str, place: Place, settings: Settings) -> ConnectOptions:
    return contexts.named_or_given(
        name,
        purpose,
        place.environ,
        url=settings.nats_url.get_secret_value(),
        creds=settings.nats_creds,
    )


def _bounded(options: ConnectOptions, place: Place, settings: Settings) -> ConnectOptions:
    """Return a connection beside the one served on: its context may be another user's.

    Such a user has inboxes of its own; the setting is for the one who serves.
    """
    hosted = place.arguments.hosted
    own = options.inbox_prefix != DEFAULT_INBOX
    return replace(
        options,
        inbox_prefix=options.inbox_prefix if own else settings.nats_inbox_prefix or DEFAULT_INBOX,
        connect_timeout_s=HOSTED_START_TIMEOUT_S if hosted else settings.start_timeout,
        accepted_prefixes=settings.inbox_prefixes,
    )
