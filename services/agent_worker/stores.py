"""Where an agent keeps its sessions and its memories."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_worker.place import Place
from fisk_ai.bus.connection import Connection
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.config import Config
from fisk_ai.memory.store import MemoryConfig, MemoryStore
from fisk_ai.sessions import choice
from fisk_ai.sessions import store as sessions
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.places import StoreConfig
from fisk_ai.sessions.presence import Door, Presence

if TYPE_CHECKING:
    from agent_worker.start import Start
    from agent_worker.storage import Storage


@dataclass(frozen=True, slots=True)
class Stores:
    """What outlives a run; ``memory`` is ``None`` while it is off."""

    sessions: sessions.Store
    memory: MemoryStore | None

    def binds(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        """Return what looks at the place of each, before use and whenever it is to be sure of."""
        if self.memory is None:
            return (self.sessions.bind,)
        return (self.sessions.bind, self.memory.bind)


async def open_local(config: Config, place: Place) -> Stores | None:
    """Open the stores of an agent that keeps nothing at a broker; ``None`` for any other.

    Raises:
        ConfigError, SetupError: one cannot be used.
    """
    if choice.needs_broker(config.harness.sessions.backend) or _memory_needs_broker(config):
        return None
    stores = _opened(config, place, StoreConfig(), None)
    for bind in stores.binds():
        await bind()
    return stores


async def open_at_broker(
    config: Config, place: Place, storage: Storage, door: Door, start: Start
) -> Stores:
    """Open the stores of an agent that keeps sessions, memories or both at a broker.

    ``door`` serves what operators ask of sessions that are held here. What the stores are kept in
    is waited for.

    Raises:
        ConfigError, SetupError: one cannot be used, or its broker not be reached.
    """
    declared = config.harness
    of_sessions = of_memory = presence = None
    if choice.needs_broker(declared.sessions.backend):
        of_sessions = await storage.streams(_context(declared.sessions.options))
        presence = await _presence(config, storage, of_sessions.connection, door)
    if _memory_needs_broker(config):
        of_memory = await storage.streams(_context(declared.memory.options))
    kept = StoreConfig(js=of_sessions, presence=presence)
    stores = _opened(config, place, kept, of_memory)
    for bind in stores.binds():
        await start.until_present(bind)
    return stores


def answer_for(stores: Stores, presence: Presence) -> None:
    """Let ``presence`` answer for the held sessions of a store that has no broker of its own."""
    if isinstance(stores.sessions, FileStore):
        stores.sessions.appear(presence)


async def _presence(config: Config, storage: Storage, kept: Connection, door: Door) -> Presence:
    """Return who answers for held sessions: where the agent is reached, else where they are."""
    return Presence(await storage.answering() or kept, config.identity, door=door)


def _opened(config: Config, place: Place, kept: StoreConfig, of_memory: JetStream | None) -> Stores:
    return Stores(_sessions(config, place, kept), _memory(config, of_memory))


def _sessions(config: Config, place: Place, kept: StoreConfig) -> sessions.Store:
    declared = config.harness.sessions
    state_dir = place.arguments.state_dir
    written = replace(
        kept,
        options=declared.options,
        store_dir=config.base,
        environ=place.environ,
        identity=config.identity,
    )
    return choice.open_store(
        declared.backend, written, state_dir=str(state_dir) if state_dir is not None else None
    )


def _memory(config: Config, js: JetStream | None) -> MemoryStore | None:
    declared = config.harness.memory
    if not declared.enabled:
        return None
    # Here, for workers without memory; from there, so that the backends are registered.
    from fisk_ai.memory.builtin import store  # noqa: PLC0415

    return store.new(
        declared.backend,
        MemoryConfig(identity=config.identity, options=declared.options, base=config.base, js=js),
    )


def _memory_needs_broker(config: Config) -> bool:
    if not config.harness.memory.enabled:
        return False
    from fisk_ai.memory.builtin import store  # noqa: PLC0415 - as above

    return store.needs_broker(config.harness.memory.backend)


def _context(options: dict[str, object]) -> str:
    return str(options.get("nats_context") or "")
