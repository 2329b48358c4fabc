"""Fixtures every test may use, and the guard that keeps tests on this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from fisk_ai.bus.broker import Broker
    from fisk_ai.bus.connection import Connection

# Cores that are shared are slow at times; a property has no deadline.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

_guarded = False


def _is_loopback(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a path: a socket of this machine
    host = str(address[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse_foreign_sockets(event: str, arguments: tuple[object, ...]) -> None:
    if not _guarded or event not in ("socket.connect", "socket.sendto"):
        return
    sock, address = arguments[0], arguments[1]
    if isinstance(sock, socket.socket) and sock.family == socket.AF_UNIX:
        return
    if not _is_loopback(address):
        raise AssertionError(f"a test tried to reach {address!r}, beyond this machine")


sys.addaudithook(_refuse_foreign_sockets)


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[None]:
    """Fail a test that opens a connection beyond loopback."""
    global _guarded  # noqa: PLW0603 - an audit hook can be removed by nobody, so it is switched
    _guarded = True
    yield
    _guarded = False


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start every test without the credentials, colours and settings of whoever runs it."""
    for name in tuple(os.environ):
        if name.startswith(("ANTHROPIC_", "FISK_AI", "OTEL_", "SLACK_", "XDG_")) or name in (
            "NO_COLOR",
            "NO_TUI",
            "VERBOSE",
            "THINKING",
            "TOOL_OUTPUT",
            "HTTP_DEBUG",
            "LLMFORMAT",
        ):
            monkeypatch.delenv(name)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """Run a private broker."""
    from fisk_ai.testing.broker import running_broker  # noqa: PLC0415 - loads the NATS client

    async with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
async def caller(broker: Broker) -> AsyncIterator[Connection]:
    """Connect whoever asks."""
    from fisk_ai.testing.broker import connected  # noqa: PLC0415 - as above

    async with connected(broker, name="caller") as connection:
        yield connection


@pytest.fixture
async def worker(broker: Broker) -> AsyncIterator[Connection]:
    """Connect whoever answers."""
    from fisk_ai.testing.broker import connected  # noqa: PLC0415 - as above

    async with connected(broker, name="worker") as connection:
        yield connection
