"""What a worker builds before it serves: configuration, model, commands, sessions, broker.

Whatever can be built at the same time is: importing a model's library, introspecting the
application and reaching the broker each take their time and need nothing of one another.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_worker import logs
from agent_worker.additions import Additions
from agent_worker.arguments import Arguments
from agent_worker.debug_files import DebugFiles
from agent_worker.operators.door import Door
from agent_worker.operators.runs import Runs
from agent_worker.place import Place, connection_options, require_work_directory
from agent_worker.storage import Storage
from agent_worker.stores import Stores, answer_for, open_at_broker, open_local
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.options import URL_VARIABLE, ConnectOptions
from fisk_ai.config import Broker, Config, Mode, load, require_endpoint
from fisk_ai.errors import FiskError, SetupError
from fisk_ai.llm import builtin as _providers
from fisk_ai.llm import provider as llm
from fisk_ai.memory.store import MemoryStore
from fisk_ai.sessions.places import root_directory
from fisk_ai.sessions.presence import Presence
from fisk_ai.toolkit import toolset
from fisk_ai.toolkit.builtin import assemble
from fisk_ai.toolkit.contract import Tool
from fisk_ai.toolkit.environment import credential_values
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.fisk.application import load as load_application
from fisk_ai.toolkit.selection import select

if TYPE_CHECKING:
    from agent_worker.settings import Settings
    from agent_worker.start import Start

CLOSE_TIMEOUT_S = 5.0
"""How long a provider may take to close its connections; the process ends all the same."""

REGISTERED = _providers
"""Imported so that the providers are registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Everything a worker serves with; all of it is this process's own to close.

    ``runs`` are the runs that go on.
    ``tools`` are this process's own, before any of a peer's; ``peers_wait_s`` is how long peers are
    waited for. An agent that takes no work runs
    nothing: it has neither a model nor stores.
    """

    provider: llm.Provider | None
    application: LoadedApplication
    stores: Stores | None
    runs: Runs
    connection: Connection
    storage: Storage
    debug: DebugFiles
    additions: Additions
    tools: Sequence[Tool]
    peers_wait_s: float

    async def close(self) -> None:
        """Let the last messages out and release everything."""
        await self.storage.close()
        await _release(self.connection, self.provider, self.debug)


def load_config(arguments: Arguments, environ: Mapping[str, str]) -> Config:
    """Return the configuration this worker serves, with the command line's changes in it.

    Raises:
        ConfigError: the file or a directory cannot be used.
    """
    mode = Mode.AGENT if arguments.hosted else Mode.SERVE
    config = load(arguments.config, mode, broker=_broker(arguments, environ))
    if not arguments.hosted:
        require_endpoint(config)
    require_work_directory(arguments.work_dir)
    if arguments.job_workers is not None:
        config = config.with_job_workers(arguments.job_workers)
    if arguments.script is not None:
        config = config.with_script(arguments.script)
    if arguments.hosted:
        config = config.hosted(operator=not arguments.no_operator)
    flag = str(arguments.root_dir) if arguments.root_dir is not None else None
    with config.placing():
        base = root_directory(flag, config.root_directory)
    return config.model_copy(update={"root_directory": str(base) if base is not None else ""})


def _broker(arguments: Arguments, environ: Mapping[str, str]) -> Broker:
    if arguments.embedded:
        return Broker.EMBEDDED
    return Broker.GIVEN if environ.get(URL_VARIABLE, "").strip() else Broker.NAMED


async def build(config: Config, place: Place, additions: Additions, start: Start) -> Built:
    """Build everything, at the same time where that is possible.

    Raises:
        FiskError: the first thing that could not be built, in one sentence.
    """
    runs = config.takes_work
    if runs:
        llm.require_known(config.llm.provider)
    local = await open_local(config, place) if runs else None
    debug = DebugFiles(config, place.arguments)
    base = await _together(config, place, debug.middlewares, start)
    storage = base.storage(config, place)
    live = Runs()
    door = Door(config.identity, live)
    try:
        stores = local or (
            await open_at_broker(config, place, storage, door, start) if runs else None
        )
        if stores is not None and not place.arguments.hosted:
            answer_for(stores, Presence(base.connection, config.identity, door=door))
        memory = stores.memory if stores is not None else None
        tools = assemble_tools(config, base.application, memory, additions)
    except FiskError:
        await storage.close()
        await _release(base.connection, base.provider, debug)
        raise
    return Built(
        provider=base.provider,
        application=base.application,
        stores=stores,
        runs=live,
        connection=base.connection,
        storage=storage,
        debug=debug,
        additions=additions,
        tools=tools,
        peers_wait_s=base.serving.connect_timeout_s,
    )


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings of this process; importing what reads them takes its time, too.

    Raises:
        ConfigError, NotBuiltError: a value that cannot be one.
    """
    from agent_worker import settings  # noqa: PLC0415 - as said above

    return settings.read(environ)


def build_provider(
    config: Config,
    settings: Settings,
    middlewares: tuple[llm.HttpMiddleware, ...] = (),
    secrets: tuple[str, ...] = (),
) -> llm.Provider:
    """Build the model's provider; importing its library may take most of a second.

    Raises:
        ConfigError, SetupError: its options or its key cannot be used.
    """
    name = config.llm.provider
    api_key = settings.api_key.get_secret_value()
    if llm.declares_credentials(name) and not api_key:
        raise SetupError(
            "the model needs a key: set ANTHROPIC_API_KEY or ANTHROPIC_API_KEY_FILE, "
            "or rehearse with --script",
            key="ANTHROPIC_API_KEY",
        )
    return llm.new(
        name,
        llm.ProviderConfig(
            api_key=api_key,
            base_url=settings.base_url,
            call_timeout_s=config.llm.budget.call_timeout_s,
            directory=str(config.directory),
            options=config.llm.options,
            middlewares=middlewares,
            secrets=secrets,
        ),
    )


def assemble_tools(
    config: Config,
    application: LoadedApplication,
    memory: MemoryStore | None,
    additions: Additions,
) -> Sequence[Tool]:
    """Return the tools of this process that every run is given.

    No turn may begin in a worker without a single one; where peers lend some, that is seen later.

    Raises:
        ConfigError, SetupError: two tools claim one name, one cannot be a tool, or none is left.
    """
    sources = toolset.Sources(
        app_tools=application.tools,
        builtins=assemble.build(config, memory=memory),
        custom_tools=additions.tools,
    )
    assembled, _ = toolset.build(
        sources, supports_tool_search=False, allow_tool_search=False, selection=select(config)
    )
    if not config.imports_tools:
        require_tools(config, assembled.tools)
    return assembled.tools


def require_tools(config: Config, tools: Sequence[Tool]) -> None:
    """Refuse a worker without a single tool, once those of peers are known; raises ConfigError."""
    toolset.require_tools(
        tools, application_path=config.application_path, source=str(config.source)
    )


async def _release(
    connection: Connection, provider: llm.Provider | None, debug: DebugFiles
) -> None:
    await connection.drain()
    if provider is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await provider.close()
    await debug.close()


@dataclass(frozen=True, slots=True)
class _Base:
    """What takes its time."""

    provider: llm.Provider | None
    application: LoadedApplication
    connection: Connection
    serving: ConnectOptions
    settings: Settings

    def storage(self, config: Config, place: Place) -> Storage:
        return Storage(config, place, self.settings, (self.serving, self.connection))


async def _together(
    config: Config, place: Place, middlewares: tuple[llm.HttpMiddleware, ...], start: Start
) -> _Base:
    """Build what takes its time; the application runs first, so that it works while we import."""
    try:
        async with asyncio.TaskGroup() as tasks:
            introspecting = tasks.create_task(load_application(config, environ=place.environ))
            settings = await asyncio.to_thread(read_settings, place.environ)
            logs.begin(place.arguments, settings)
            await start.begin(settings)
            secrets = credential_values(place.environ, named=config.credential_names)
            providing = tasks.create_task(_provider(config, settings, middlewares, secrets))
            serving = connection_options(config, place, settings)
            connecting = tasks.create_task(connect(serving))
    except ExceptionGroup as group:
        refused = group.subgroup(FiskError)
        raise (_first(refused) if refused is not None else group.exceptions[0]) from None
    return _Base(providing.result(), introspecting.result(), connecting.result(), serving, settings)


async def _provider(
    config: Config,
    settings: Settings,
    middlewares: tuple[llm.HttpMiddleware, ...],
    secrets: tuple[str, ...],
) -> llm.Provider | None:
    if not config.takes_work:
        return None
    return await asyncio.to_thread(build_provider, config, settings, middlewares, secrets)


def _first(group: ExceptionGroup[FiskError]) -> FiskError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
