"""What a run of the described configuration would refuse: one sentence for each, none twice.

They come in the order a start would find them, so the first is what a run would say. Nothing is
opened and nothing made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from fisk_ai.cli import provider_check
from fisk_ai.cli.info_tools import Offer
from fisk_ai.config import Broker, Config
from fisk_ai.config.endpoints import agent_refusals
from fisk_ai.config.standing import unbuilt_wishes
from fisk_ai.errors import ConfigError, FiskError
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import FILE_BACKEND, StoreConfig
from fisk_ai.text.sanitise import for_terminal

REFUSAL_LIMIT = 600
"""Code points of one refusal, which names a file and quotes the configuration."""

_SESSIONS = "harness.sessions.backend"
_MEMORY = "harness.memory.backend"


def refusals(config: Config, offered: Offer) -> Iterator[str]:
    """Yield why a run would be refused; nothing where it would not."""
    for fault in _faults(config, offered):
        placed = config.placed(fault) if isinstance(fault, ConfigError) else fault
        yield for_terminal(str(placed), REFUSAL_LIMIT)


def _faults(config: Config, offered: Offer) -> Iterator[FiskError]:
    wishes = unbuilt_wishes(config)
    told = {wish.key for wish in wishes}
    yield from wishes
    yield from agent_refusals(config, Broker.EMBEDDED)
    yield from _refused_by(provider_check.require, config)
    if _SESSIONS not in told:
        yield from _refused_by(_require_sessions, config)
    if _MEMORY not in told:
        yield from _refused_by(_require_memory, config)
    if offered.fault is not None:
        yield offered.fault
    yield from _refused_by(_require_card, config)


def _refused_by(require: Callable[[Config], None], config: Config) -> Iterator[FiskError]:
    try:
        require(config)
    except FiskError as exc:
        yield exc


def _require_sessions(config: Config) -> None:
    declared = config.harness.sessions
    given = StoreConfig(options=declared.options, store_dir=config.base, environ=os.environ)
    if declared.backend == FILE_BACKEND:
        directory_of(given)
        return
    from fisk_ai.sessions.builtin import store  # noqa: PLC0415 - all of a store, for its name alone

    store.check(declared.backend, given)


def _require_memory(config: Config) -> None:
    declared = config.harness.memory
    if not declared.enabled:
        return
    from fisk_ai.memory.builtin import store  # noqa: PLC0415 - for agents with memory alone

    given = store.MemoryConfig(identity=config.identity, options=declared.options, base=config.base)
    store.check(declared.backend, given)


def _require_card(config: Config) -> None:
    written = (config.display_name, config.description, config.icon, config.icon_url)
    if not any(written) and not config.prompts:
        return
    from fisk_ai.a2a.cards import build_card  # noqa: PLC0415 - for agents with a card alone

    build_card(config)
