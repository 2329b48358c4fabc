"""An agent hosted for one run: a private broker, a worker, and a connection to both.

Everything started here is stopped here, by process id, on every way out. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fisk_ai import secrecy
from fisk_ai.bus.broker import Broker
from fisk_ai.bus.heartbeat import wait_silent
from fisk_ai.cli.agent import Death
from fisk_ai.cli.worker_child import AGENT_WORKER, WorkerChild, start_worker
from fisk_ai.errors import SetupError
from fisk_ai.llm.anthropic.base_url import BASE_URL
from fisk_ai.llm.credentials import KEY, KEY_FILE

if TYPE_CHECKING:
    from fisk_ai.bus.connection import Connection

URL_VARIABLE = "FISK_AI_NATS_URL"
_NOT_FOR_THE_WORKER = (KEY_FILE, "FISK_AI_NATS_CREDS")
"""Variables this process has already resolved, or that name another broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlan:
    """What to start: the worker's arguments, its variables, and whether its log is shown.

    ``program`` is what Python runs as the worker.
    """

    arguments: Sequence[str]
    environ: Mapping[str, str]
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    verbose: bool = False
    program: Sequence[str] = AGENT_WORKER

    def worker_environ(self, url: str) -> dict[str, str]:
        """Return the worker's variables, with the broker's address and the model's key."""
        environ = {k: v for k, v in self.environ.items() if k not in _NOT_FOR_THE_WORKER}
        environ[URL_VARIABLE] = url
        for name, value in ((KEY, self.api_key), (BASE_URL, self.base_url)):
            if value:
                environ[name] = value
            else:
                environ.pop(name, None)
        return environ


@dataclass(slots=True, kw_only=True)
class Hosted:
    """A running agent and the connection to talk to it."""

    broker: Broker
    worker: WorkerChild
    connection: Connection
    at_once: bool = False
    """Whether leaving cancels what still runs; set when the operator does not want to wait."""

    @property
    def identity(self) -> str:
        """The agent's name, as its worker says it."""
        return self.worker.identity

    @property
    def elsewhere(self) -> bool:
        """Never: its sessions and its log are here."""
        return False

    @property
    def silence(self) -> str:
        """What to say where nobody answers under its name."""
        return f'the agent hosted for this run is not answering as "{self.identity}"'

    def last_words(self) -> list[str]:
        """Return what the worker's log says of a crash."""
        return self.worker.last_words()

    async def died(self) -> Death:
        """Wait until broker or worker is gone and say how; without either no run ends."""
        deaths: dict[asyncio.Future[None], Literal["broker", "worker", "silence"]] = {
            asyncio.ensure_future(self.broker.died()): "broker",
            asyncio.ensure_future(self.worker.died()): "worker",
            asyncio.ensure_future(wait_silent(self.connection)): "silence",
        }
        try:
            done, _ = await asyncio.wait(deaths, return_when=asyncio.FIRST_COMPLETED)
            gone = deaths[done.pop()]
            if gone == "silence":
                await self.broker.stop()  # gone for good: who leaves it now waits for no answer
            return Death(gone, self.worker.status if gone == "worker" else 0)
        finally:
            for waiting in deaths:
                waiting.cancel()


@contextlib.asynccontextmanager
async def host(plan: HostPlan, meanwhile: Callable[[], object]) -> AsyncGenerator[Hosted]:
    """Start broker and worker, connect, and stop all of it at the end.

    ``meanwhile`` is called once while the worker starts: time in which to import a client. This
    process, which holds the credentials of both, is shielded from others of its user for good.

    Raises:
        SetupError: one of them could not be started, with its own sentence.
    """
    secrecy.shield()
    async with contextlib.AsyncExitStack() as stack:
        broker = await _start_broker(plan.environ)
        stack.push_async_callback(broker.stop)
        with _told_of_its_end(broker):
            worker = await start_worker(
                plan.arguments,
                plan.worker_environ(broker.url_with_credentials),
                verbose=plan.verbose,
                meanwhile=meanwhile,
                program=plan.program,
            )
        hosted = None
        try:
            with _told_of_its_end(broker):
                connection = await _connect(broker)
            stack.push_async_callback(connection.drop)
            hosted = Hosted(broker=broker, worker=worker, connection=connection)
            yield hosted
        except BaseException:
            await worker.stop(at_once=True)
            raise
        await worker.stop(at_once=hosted.at_once)


async def _start_broker(environ: Mapping[str, str]) -> Broker:
    """Start the broker; what it left on disk while starting is gone when this returns."""
    directory = Path(tempfile.mkdtemp(prefix="fisk-ai-"))
    try:
        return await Broker.start(directory=directory, environ=environ)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _told_of_its_end(broker: Broker) -> Generator[None]:
    """Name the cause of what fails because the broker is gone: nobody who connects to it can."""
    try:
        yield
    except SetupError as exc:
        if not broker.end:
            raise
        raise SetupError(
            f"the broker of this run ended while the agent started ({broker.end}); start it again"
        ) from exc


async def _connect(broker: Broker) -> Connection:
    from fisk_ai.bus.connection import connect  # noqa: PLC0415 - imported while the worker starts
    from fisk_ai.bus.options import ConnectOptions  # noqa: PLC0415 - as above

    options = ConnectOptions(
        url=broker.url, name="terminal", user=broker.user, password=broker.password
    )
    return await connect(options)
