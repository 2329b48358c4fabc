"""Real brokers for tests: a private one, one of any configuration, and connections to them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from fisk_ai.bus.broker import POLL_S, START_TIMEOUT_S, Broker, find_binary, listening_at
from fisk_ai.bus.connection import Connection, ConnectOptions, connect
from fisk_ai.bus.jetstream import JetStream
from fisk_ai.bus.provisioning import Wish, create


@asynccontextmanager
async def running_broker(
    directory: Path, *, jetstream: bool = False
) -> AsyncGenerator[Broker, None]:
    """Run a broker for the length of the block; its files lie under ``directory``."""
    broker = await Broker.start(directory=directory, jetstream=jetstream, environ=os.environ)
    try:
        yield broker
    finally:
        await broker.stop()


def options(
    broker: Broker, *, name: str = "test", accepted_prefixes: tuple[str, ...] = ()
) -> ConnectOptions:
    """Return what it takes to connect to ``broker``."""
    return ConnectOptions(
        broker.url,
        name,
        user=broker.user,
        password=broker.password,
        accepted_prefixes=accepted_prefixes,
    )


@asynccontextmanager
async def connected(
    broker: Broker, *, name: str = "test", accepted_prefixes: tuple[str, ...] = ()
) -> AsyncGenerator[Connection, None]:
    """Connect to ``broker`` for the length of the block."""
    connection = await connect(options(broker, name=name, accepted_prefixes=accepted_prefixes))
    try:
        yield connection
    finally:
        await connection.drain()


@asynccontextmanager
async def running_streams(directory: Path) -> AsyncGenerator[JetStream, None]:
    """Run a broker that keeps streams for the length of the block; none is made in it."""
    async with running_broker(directory, jetstream=True) as broker, connected(broker) as connection:
        yield JetStream(connection)


async def provision(js: JetStream, *wishes: Wish) -> None:
    """Make streams, buckets and consumers as ``fisk-ai provision`` does; raises as it does."""
    for wish in wishes:
        await create(js, wish)


@asynccontextmanager
async def running_server(
    directory: Path, configuration: str, *, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[str, None]:
    """Run a nats-server with ``configuration`` for the length of the block; yields its address.

    ``environ`` holds variables that the configuration names.
    """
    file = _written(directory, configuration)
    process = await asyncio.create_subprocess_exec(
        find_binary(os.environ),
        "-c",
        file,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **(environ or {})},
    )
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            address = await _address(directory, process.pid)
        yield address
    finally:
        process.terminate()
        await process.wait()


def _written(directory: Path, configuration: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "server.conf"
    file.write_text(f"ports_file_dir: {json.dumps(str(directory))}\n{configuration}\n")
    return file


async def _address(directory: Path, pid: int) -> str:
    while True:
        if (address := listening_at(directory, pid)) is not None:
            return address
        await asyncio.sleep(POLL_S)
