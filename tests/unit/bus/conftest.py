"""Servers with a configuration of the test's own, and keys to log in with."""

from __future__ import annotations

import base64
import binascii
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


@pytest.fixture
def seed_text() -> Callable[..., str]:
    """Spell a 32-byte seed as text; of a user, unless the prefix of another kind is given."""

    def spell(seed: bytes, kind: int = 20 << 3) -> str:
        raw = bytes([18 << 3 | kind >> 5, (kind & 31) << 3]) + seed
        checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
        return base64.b32encode(raw + checksum).decode().rstrip("=")

    return spell
