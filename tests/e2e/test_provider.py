"""A run with the real provider code, against an endpoint on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.testing.command import Agent, session_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_CALL: dict[str, object] = {
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "env", "input": {}}],
    "stop_reason": "tool_use",
}
_ANSWER = {"content": [{"type": "text", "text": "Moo"}]}


@dataclass
class Endpoint:
    url: str
    log: Path

    def requests(self) -> list[dict[str, object]]:
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [cast("dict[str, object]", json.loads(line)) for line in lines]


@pytest.fixture
def endpoint(serve: Callable[..., str], tmp_path: Path) -> Endpoint:
    return Endpoint(serve(_CALL, _ANSWER), tmp_path / "requests")


def test_the_key_is_used_and_reaches_no_tool_and_no_screen(
    agent: Agent, endpoint: Endpoint
) -> None:
    (agent.home / "key").write_text("sk-secret\n", encoding="utf-8")
    words = ("--api-key-file", "key", "--base-url", endpoint.url, "--tool-output", "--verbose")
    done = agent.run("run", *words, "say", "moo")
    assert (done.status, done.out) == (0, "Moo\n")
    assert "ANTHROPIC_API_KEY=(unset)\n" in done.err
    assert "ANTHROPIC_API_KEY_FILE=(unset)\n" in done.err
    assert "FISK_AI_NATS_URL=(unset)\n" in done.err
    assert "LLMFORMAT=1\n" in done.err
    assert "sk-secret" not in done.err
    assert len(endpoint.requests()) == 2
    written = endpoint.log.read_text(encoding="utf-8")
    assert "cache_control" in written
    assert "ttl" not in written, "nobody is there to take an hour"


def test_a_key_that_is_exported_is_used_and_a_scripted_run_sends_nothing(
    agent: Agent, endpoint: Endpoint
) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": endpoint.url}
    assert agent.rehearse("go", environ=environ).out == "It says Moo.\n"
    assert not endpoint.log.exists() or endpoint.requests() == []
    assert agent.run("run", "go", environ=environ).out == "Moo\n"
    assert len(endpoint.requests()) == 2


def test_a_conversation_with_a_model_never_resumes_with_a_script(
    agent: Agent, endpoint: Endpoint
) -> None:
    environ = {
        "ANTHROPIC_API_KEY": "sk-secret",
        "ANTHROPIC_BASE_URL": endpoint.url,
        "FISK_AI_FAULT": "model.before=kill",
    }
    died = agent.run("run", "go", environ=environ)
    assert died.status == 1
    done = agent.rehearse("--resume", session_of(died.err), "--force")
    assert done.status == 1
    assert done.out == ""
    assert "provider" in done.err.splitlines()[-1]
