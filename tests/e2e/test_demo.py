"""The example that every reader runs first."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fisk_ai.testing.command import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "cowsay"


def test_the_demo_prints_the_answer_of_its_script_and_nothing_else(agent: Agent) -> None:
    script = EXAMPLE / "script.yaml"
    answer = yaml.safe_load(script.read_text(encoding="utf-8"))["turns"][-1]["say"]
    words = ("--config", str(EXAMPLE / "agent.yaml"), "--script", str(script))
    done = agent.run("run", *words, "tell me a joke")
    assert (done.status, done.out) == (0, f"{answer}\n")
    assert "-> say(message:" in done.err
