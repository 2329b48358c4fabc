"""The session store of a command: that of its configuration, or of this machine without one.

A command looks for sessions that are there; who begins one is the worker. So nothing is made here:
a directory that is not there holds no session, and is not there afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.errors import UsageError
from fisk_ai.sessions import choice
from fisk_ai.sessions.file_directory import directory_of
from fisk_ai.sessions.places import FILE_BACKEND, StoreConfig, root_directory

if TYPE_CHECKING:
    from fisk_ai.bus.jetstream import JetStream
    from fisk_ai.config import Config
    from fisk_ai.sessions.presence import Presence
    from fisk_ai.sessions.store import Store


@asynccontextmanager
async def opened(
    *,
    config_path: str | None,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
    nats_context: str | None = None,
) -> AsyncGenerator[Store]:
    """Give the store of ``fisk-ai session``, which need not be fit for writing.

    ``nats_context`` takes the place of the one that the configuration names for a broker.

    Raises:
        ConfigError: the configuration cannot be used, or names another backend than the flags.
        UsageError: a broker's context for sessions that are at none.
        SetupError: the store, or the broker it is kept at, cannot be used.
    """
    if config_path is None:
        if nats_context is not None:
            raise UsageError(
                "--nats-context needs --config with the agent's agent.yaml: it names the stream"
                " that sessions are kept in",
                key="--nats-context",
            )
        base = root_directory(root_dir)
        written = StoreConfig(store_dir=base, environ=environ, read_only=True)
        yield choice.open_store(FILE_BACKEND, written, state_dir=state_dir)
        return
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(config_path), Mode.LENIENT)
    async with configured_store(
        config,
        state_dir=state_dir,
        root_dir=root_dir,
        environ=environ,
        nats_context=nats_context,
    ) as store:
        yield store


@asynccontextmanager
async def configured_store(
    config: Config,
    *,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
    nats_context: str | None = None,
) -> AsyncGenerator[Store]:
    """Give the store that ``config`` names, with the flags' places instead of its own.

    Raises:
        ConfigError, SetupError, UsageError: as :func:`opened`.
    """
    declared = config.harness.sessions
    with config.placing():
        written = StoreConfig(
            options=declared.options,
            store_dir=root_directory(root_dir, config.root_directory),
            environ=environ,
            read_only=True,
            identity=config.identity,
        )
        local = bool(state_dir) or not choice.needs_broker(declared.backend)
        store = choice.open_store(declared.backend, written, state_dir=state_dir) if local else None
    if local and nats_context is not None:
        raise UsageError(
            "--nats-context reads sessions that are kept at a broker, and these are files;"
            " leave it out",
            key="--nats-context",
        )
    if store is not None:
        yield store
        return
    async with _reached(config, nats_context, environ) as (js, presence):
        written = replace(written, js=js, presence=presence)
        with config.placing():
            store = choice.open_store(declared.backend, written, state_dir=None)
        await store.bind()
        yield store


@asynccontextmanager
async def _reached(
    config: Config, nats_context: str | None, environ: Mapping[str, str]
) -> AsyncGenerator[tuple[JetStream, Presence]]:
    """Connect to where the sessions of ``config`` are kept, and to where its worker answers."""
    from fisk_ai.bus import contexts  # noqa: PLC0415 - the NATS client, for few commands
    from fisk_ai.bus.connection import connect  # noqa: PLC0415 - likewise
    from fisk_ai.bus.jetstream import JetStream  # noqa: PLC0415 - likewise
    from fisk_ai.sessions.presence import Presence  # noqa: PLC0415 - likewise

    purpose = f"sessions of {config.identity}"
    declared = config.harness.sessions.options.get("nats_context")
    named = nats_context or str(declared or config.nats_context)
    options = contexts.from_environment(named, purpose, environ)
    async with AsyncExitStack() as opened_here:
        connection = await connect(options)
        opened_here.push_async_callback(connection.drain)
        answering = connection
        if nats_context is None and config.nats_context not in ("", named):
            answers = contexts.from_environment(config.nats_context, purpose, environ)
            answering = await connect(answers)
            opened_here.push_async_callback(answering.drain)
        js = JetStream(connection, api_prefix=options.api_prefix)
        yield js, Presence(answering, config.identity)


def session_directory(
    *,
    config_path: str | None,
    state_dir: str | None,
    root_dir: str | None,
    environ: Mapping[str, str],
) -> Path | None:
    """Return where ``fisk-ai session`` finds its files; ``None`` for a backend without any.

    Raises:
        ConfigError: as :func:`opened`.
    """
    if config_path is None:
        options = {"directory": str(Path(state_dir).absolute())} if state_dir else {}
        base = root_directory(root_dir)
        return directory_of(StoreConfig(options=options, store_dir=base, environ=environ))
    from fisk_ai.config import Mode, load  # noqa: PLC0415 - pydantic, only where a file is read

    config = load(Path(config_path), Mode.LENIENT)
    directory = configured_directory(config, root_dir=root_dir, environ=environ)
    return Path(state_dir).absolute() if state_dir else directory


def configured_directory(
    config: Config, *, root_dir: str | None, environ: Mapping[str, str]
) -> Path | None:
    """Return where the sessions of ``config`` are; ``None`` for a backend without files.

    Raises:
        ConfigError: an option that its backend does not take, or a base that is no directory.
    """
    declared = config.harness.sessions
    if declared.backend != FILE_BACKEND:
        return None
    with config.placing():
        base = root_directory(root_dir, config.root_directory)
        return directory_of(StoreConfig(options=declared.options, store_dir=base, environ=environ))
