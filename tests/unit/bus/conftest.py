"""A private broker, connections to it, and servers with a configuration of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.broker import connected, running_broker, running_server

Serve = Callable[[str], AbstractAsyncContextManager[str]]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
async def worker(broker: Broker) -> AsyncIterator[Connection]:
    async with connected(broker, name="worker") as connection:
        yield connection


@pytest.fixture
async def caller(broker: Broker) -> AsyncIterator[Connection]:
    async with connected(broker, name="caller") as connection:
        yield connection


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Run a nats-server with the given configuration for a block; yields its address."""
    return partial(running_server, tmp_path / "server")
