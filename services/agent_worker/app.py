"""The composition root: what is built in which order, served, and closed again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_worker import banner, instances, logs, resources
from agent_worker.additions import Additions
from agent_worker.arguments import Arguments
from agent_worker.endpoints.serving import Endpoints
from agent_worker.peers import remote_tools
from agent_worker.place import Place
from agent_worker.ready import ReadyLine
from agent_worker.resources import Built
from agent_worker.start import Start
from agent_worker.stopping import Stopping
from agent_worker.storage import Storage
from fisk_ai import faults
from fisk_ai.agent.hooks import Hooks
from fisk_ai.config import Config
from fisk_ai.errors import FiskError
from fisk_ai.serving.barrier import Runner
from fisk_ai.serving.log import get_logger
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.toolkit.remote import Imported

_log = get_logger("agent_worker")


async def run(
    arguments: Arguments,
    environ: Mapping[str, str],
    ready: ReadyLine,
    additions: Additions,
) -> int:
    """Start the worker, serve until it is told to end, and return its exit code.

    Raises:
        FiskError: the start was refused; the message is the sentence for whoever started it.
    """
    faults.check()
    start = Start(hosted=arguments.hosted)
    try:
        config = resources.load_config(arguments, environ)
        place = Place(arguments=arguments, environ=environ)
        with config.placing():
            built = await resources.build(config, place, additions, start)
        try:
            return await _served(config, arguments, built, start, ready)
        finally:
            await built.close()
    finally:
        await start.close()


async def _served(
    config: Config, arguments: Arguments, built: Built, start: Start, ready: ReadyLine
) -> int:
    """Answer, take work, and return the exit code of the end."""
    keeps_apart = instances.apart(config) and not arguments.hosted
    marks = instances.marks() if keeps_apart else None
    service = await built.connection.service(config.identity, metadata=marks)
    with config.placing():
        endpoints = Endpoints.of(config, built, service, arguments)
    await endpoints.start_answering()
    imported = await _imported(config, built)
    built.debug.begin()
    worker = _Worker(config, arguments, built, endpoints, imported)
    if keeps_apart:
        await instances.wait_alone(built.connection, config.identity, start.readiness)
    await endpoints.start_channels(start.until_present)
    worker.listen_for_ends()
    ready.serving(config.identity)
    worker.announce(start)
    return await worker.serve()


class _Connections:
    """The connections of a worker, as what the server hears their faults from."""

    name = "connections"

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def close(self) -> None:
        """Do nothing: what runs still needs them."""

    async def fault(self) -> Exception:
        """Wait for one that was closed for good, or lacks a right."""
        return await self._storage.fault()


class _Worker:
    """What is served, and the server over it."""

    def __init__(
        self,
        config: Config,
        arguments: Arguments,
        built: Built,
        endpoints: Endpoints,
        imported: Imported,
    ) -> None:
        self._config = config
        self._arguments = arguments
        self._built = built
        self._endpoints = endpoints
        self._imported = imported
        self._settings = built.storage.settings
        runner = _runner(config, arguments, built, imported)
        services = [*endpoints.services, _Connections(built.storage)]
        self._server = Server(endpoints.channels, services, runner)
        self._stopping = Stopping(self._server, drain_timeout_s=self._settings.drain_timeout)

    def listen_for_ends(self) -> None:
        """Heed signals and the owner from now on: whoever reads the ready line may send one."""
        self._stopping.install(self._arguments.owner_fd)

    async def serve(self) -> int:
        """Serve until the channel is done; 0, or 1 after a fault."""
        try:
            await self._server.serve()
        except Exception as exc:  # noqa: BLE001 - whatever ended the server ends the process
            bug = not isinstance(exc, FiskError)
            _log.error("serving ended by a fault", error=str(exc), exc_info=bug)
            return 1
        finally:
            await self._stopping.close()
            await self._endpoints.stop()
        _log.info("drained")
        return 0

    def announce(self, start: Start) -> None:
        """Say what is served, to whoever is told more than warnings."""
        start.readiness.serves(self._built, self._endpoints, self._server.draining)
        if not logs.tells_facts():
            return
        facts: dict[str, object] = {
            "Tools": len(self._built.tools) + len(self._imported.tools),
            "Tool Directory": str(self._arguments.work_dir or self._config.base or Path.cwd()),
            "Health": start.health_address,
            "Start": f"{start.took_s():.3f} s",
        }
        head = banner.head(self._config, self._built, self._endpoints, facts)
        shown = [head, *banner.sections(self._endpoints)]
        log_format = logs.format_of(self._settings.log_format, hosted=self._arguments.hosted)
        banner.show(shown, _log, as_text=log_format == "text")


def _runner(
    config: Config, arguments: Arguments, built: Built, imported: Imported
) -> Runner | None:
    """Return what runs prompts; ``None`` for an agent that answers none."""
    if built.provider is None or built.stores is None:
        return None
    runner = build_runner(
        Resources(
            config=config,
            provider=built.provider,
            session_store=built.stores.sessions,
            app_tools=built.application.tools,
            app_advisories=(*built.application.advisories, *imported.advisories),
            remote_tools=imported.tools,
            custom_tools=built.additions.tools,
            hooks=built.additions.hooks or Hooks(),
            memory_store=built.stores.memory,
            trace=built.debug.trace,
            store_dir=config.base,
            tool_work_dir=arguments.work_dir,
            verbose=arguments.verbose,
        )
    )
    return built.runs.noting(runner)


async def _imported(config: Config, built: Built) -> Imported:
    """Return the tools of peers, over the connection that the configuration names."""
    if not config.imports_tools:
        return Imported()
    with config.placing():
        connection = await built.storage.connection()
        claimed = {tool.name for tool in built.tools}
        imported = await remote_tools(config, connection, claimed, wait_s=built.peers_wait_s)
        resources.require_tools(config, (*built.tools, *imported.tools))
        return imported
