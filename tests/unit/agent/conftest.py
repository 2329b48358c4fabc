from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import AgentBench


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where the bench keeps its sessions."""
    return tmp_path / "runs"


@pytest.fixture
def bench(runs: Path) -> AgentBench:
    config = Config.model_validate(
        {"identity": "tester", "system_prompt": "be brief", "llm": {"model": "m"}}
    )
    return AgentBench(store=FileStore(runs), config=config)
