"""Which services a configuration has a supervisor start, and which are refused."""

from __future__ import annotations

import pytest

from fisk_ai.cli.services import SERVICES, enabled
from fisk_ai.config import Config
from fisk_ai.errors import NotBuiltError


def _config(agent: dict[str, object], **more: object) -> Config:
    return Config.model_validate({"identity": "cow", "expose": {"agent": agent}, **more})


def test_an_agent_worker_is_all_that_prompts_tools_and_jobs_need() -> None:
    config = _config({"a2a": {"prompts": {}, "serve_tools": True}, "jobs": {}})
    assert [service.name for service in enabled(config)] == ["agent-worker"]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            _config({"slack": {}}),
            (
                "expose.agent.slack needs the service slack-gateway, which is not built yet;"
                " 'fisk-ai serve agent-worker' serves the durable turns of a gateway elsewhere"
            ),
        ),
        (
            _config({"mcp": {}}),
            (
                "expose.agent.mcp needs the service mcp-gateway, which is not built yet; remove the"
                " block"
            ),
        ),
        (
            _config({"jobs": {}}, harness={"knowledge": {"enabled": True}}),
            (
                "harness.knowledge needs the service knowledge-indexer, which is not built yet;"
                " remove the block or set enabled: false"
            ),
        ),
    ],
    ids=["slack", "mcp", "knowledge"],
)
def test_a_service_that_is_not_built_is_refused_by_the_key_that_asks_for_it(
    config: Config, sentence: str
) -> None:
    with pytest.raises(NotBuiltError) as refused:
        enabled(config)
    assert str(refused.value) == sentence


def test_every_service_is_named_once() -> None:
    names = [service.name for service in SERVICES]
    assert names == ["agent-worker", "slack-gateway", "mcp-gateway", "knowledge-indexer"]
