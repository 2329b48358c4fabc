"""A real private broker for tests, and connections to it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection, ConnectOptions, connect


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
