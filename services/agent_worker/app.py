"""The composition root: what is built in which order, served, and closed again."""

from __future__ import annotations

import time
from collections.abc import Mapping

from agent_worker import resources
from agent_worker.additions import Additions
from agent_worker.arguments import Arguments
from agent_worker.endpoints.serving import Endpoints
from agent_worker.peers import remote_tools
from agent_worker.place import Place
from agent_worker.ready import ReadyLine
from agent_worker.resources import Built
from agent_worker.stopping import Stopping
from fisk_ai import faults
from fisk_ai.agent.hooks import Hooks
from fisk_ai.config import Config
from fisk_ai.errors import FiskError
from fisk_ai.serving.barrier import Runner
from fisk_ai.serving.log import get_logger
from fisk_ai.serving.runner import Resources, build_runner
from fisk_ai.serving.server import Server
from fisk_ai.toolkit.remote import Imported
from fisk_ai.version import __version__

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
    started = time.monotonic()
    faults.check()
    config = resources.load_config(arguments, environ)
    place = Place(arguments=arguments, environ=environ)
    with config.placing():
        built = await resources.build(config, place, additions)
    try:
        service = await built.connection.service(config.identity)
        with config.placing():
            endpoints = Endpoints.of(config, built, service, arguments)
        await endpoints.start_answering()
        imported = await _imported(config, built)
        built.debug.begin()
        worker = _Worker(config, arguments, built, endpoints, imported)
        await endpoints.start_channels()
        worker.listen_for_ends()
        ready.serving(config.identity)
        worker.announce(time.monotonic() - started)
        return await worker.serve()
    finally:
        await built.close()


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
        runner = _runner(config, arguments, built, imported)
        self._server = Server(endpoints.channels, endpoints.services, runner)
        self._stopping = Stopping(self._server)

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

    def announce(self, took_s: float) -> None:
        """Log what is served; facts only, no credential and no path of a secret."""
        config, stores = self._config, self._built.stores
        _log.info(
            "serving",
            identity=config.identity,
            version=__version__,
            endpoints=self._endpoints.names,
            model=config.llm.model,
            provider=config.llm.provider,
            sessions=stores.sessions.info().backend if stores is not None else "none",
            tools=len(self._built.tools) + len(self._imported.tools),
            start_s=round(took_s, 3),
        )


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
