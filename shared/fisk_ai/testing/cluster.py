"""Brokers for tests that are killed and come back: one, or three that keep every stream thrice.

Each server is a real process on loopback with addresses and a store of its own, which it finds
again when it is started once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fisk_ai.bus import server_config
from fisk_ai.bus.broker import POLL_S, find_binary
from fisk_ai.bus.connection import Connection, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.options import ConnectOptions
from fisk_ai.bus.provisioning import create
from fisk_ai.bus.wishes import Wish
from fisk_ai.errors import BusError, SetupError

START_TIMEOUT_S = 30.0
"""How long servers may take to listen, or to agree on who leads, on a busy machine."""


class _Leading(msgspec.Struct):
    leader: str = ""


class _Led(msgspec.Struct):
    cluster: _Leading = msgspec.field(default_factory=_Leading)


@dataclass(slots=True)
class Node:
    """One server; ``name`` is what streams call it."""

    name: str
    directory: Path
    port: int
    route: int = 0
    peers: Sequence[int] = ()
    process: asyncio.subprocess.Process | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Where clients connect, before and after a restart."""
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it on the store it had before and wait until it listens."""
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / "server.conf"
        file.write_text(self._configuration())
        self.process = await asyncio.create_subprocess_exec(
            find_binary(os.environ),
            "-c",
            file,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(START_TIMEOUT_S):
            await _eventually(lambda: _listens(self.port))

    async def kill(self) -> None:
        """End it with SIGKILL; one that is gone already stays so."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self.process = None

    def _configuration(self) -> str:
        text = (
            f'server_name: {self.name}\nlisten: "127.0.0.1:{self.port}"\n'
            + server_config.jetstream(str(self.directory / "js"))
            + server_config.SETTINGS
        )
        if self.peers:
            routes = json.dumps([f"nats://127.0.0.1:{port}" for port in self.peers])
            listen = f"127.0.0.1:{self.route}"
            text += f'cluster {{ name: fleet, listen: "{listen}", routes: {routes} }}\n'
        return text


ASK_S = 1.0
"""How long one question may take while the servers do not agree on a leader yet."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Servers that are one broker."""

    nodes: Sequence[Node]

    @property
    def url(self) -> str:
        """The addresses of all of them."""
        return ",".join(node.url for node in self.nodes)

    async def leader_of(self, js: JetStream, stream: str) -> Node:
        """Wait until somebody leads ``stream`` and return who."""
        async with asyncio.timeout(START_TIMEOUT_S):
            while True:
                with contextlib.suppress(BusError):
                    name = (
                        await js.api(f"STREAM.INFO.{stream}", {}, _Led, timeout_s=ASK_S)
                    ).cluster.leader
                    for node in self.nodes:
                        if node.name == name and node.process is not None:
                            return node
                await asyncio.sleep(0.05)

    async def provision(self, js: JetStream, *wishes: Wish) -> None:
        """Make streams, buckets and consumers as soon as the servers agreed on who leads them."""
        async with asyncio.timeout(START_TIMEOUT_S):
            for wish in wishes:
                while True:
                    with contextlib.suppress(BusError, SetupError, TimeoutError):
                        async with asyncio.timeout(ASK_S):
                            await create(js, wish)
                        break
                    await asyncio.sleep(0.05)

    async def connect(self, name: str) -> Connection:
        """Connect to whichever of them is there."""
        return await connect(ConnectOptions(self.url, name, connect_timeout_s=START_TIMEOUT_S))


@asynccontextmanager
async def running_cluster(directory: Path, size: int = 3) -> AsyncGenerator[Cluster]:
    """Run ``size`` servers for the length of the block; with one it is a broker that restarts."""
    ports = _free_ports(2 * size)
    routes = ports[size:] if size > 1 else []
    nodes = [
        Node(
            f"n{number}",
            directory / f"n{number}",
            ports[number],
            ports[size + number],
            [port for port in routes if port != ports[size + number]],
        )
        for number in range(size)
    ]
    try:
        await asyncio.gather(*(node.start() for node in nodes))
        yield Cluster(nodes)
    finally:
        await asyncio.gather(*(node.kill() for node in nodes))


async def _eventually(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - another process makes it so and tells nobody
        await asyncio.sleep(POLL_S)


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody uses; they are free again once all of them are known."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
