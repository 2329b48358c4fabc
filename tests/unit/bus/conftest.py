"""Servers with a configuration of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from fisk_ai.testing.broker import running_server

Serve = Callable[[str], AbstractAsyncContextManager[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Run a nats-server with the given configuration for a block; yields its address."""
    return partial(running_server, tmp_path / "server")
