from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.agent import AgentBench


@pytest.fixture
def bench(tmp_path: Path) -> AgentBench:
    config = Config.model_validate(
        {"identity": "tester", "system_prompt": "be brief", "llm": {"model": "m"}}
    )
    return AgentBench(store=FileStore(tmp_path / "runs"), config=config)
