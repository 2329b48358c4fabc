"""A private broker, connections to it, and servers with a configuration of the test's own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from fisk_ai.bus.broker import Broker, find_binary
from fisk_ai.bus.connection import Connection
from fisk_ai.testing.broker import connected, running_broker

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
    ports = tmp_path / "ports"
    ports.mkdir()

    @asynccontextmanager
    async def run(configuration: str) -> AsyncGenerator[str, None]:
        file = tmp_path / "server.conf"
        file.write_text(f'ports_file_dir: "{ports}"\n{configuration}\n')
        process = await asyncio.create_subprocess_exec(
            find_binary(os.environ),
            "-c",
            file,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            yield await _address(ports / f"nats-server_{process.pid}.ports")
        finally:
            process.terminate()
            await process.wait()

    return run


async def _address(file: Path) -> str:
    async with asyncio.timeout(5):
        while True:
            if (address := _read(file)) is not None:
                return address
            await asyncio.sleep(0.002)


def _read(file: Path) -> str | None:
    try:
        return str(json.loads(file.read_bytes())["nats"][0])
    except (OSError, ValueError):
        return None
