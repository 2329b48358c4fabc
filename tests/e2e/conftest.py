"""An agent to run the installed command with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """An agent in a home of its own; nothing it started outlives the test."""
    made = Agent.make(tmp_path / "home")
    yield made
    made.close()
