"""Fixtures of the model tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fisk_ai.testing.messages_endpoint import FakeMessagesEndpoint


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach loopback directly, whatever proxy the machine uses."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeMessagesEndpoint]:
    """A fake Messages API on loopback."""
    async with FakeMessagesEndpoint() as running:
        yield running
