"""The example of a worker of one's own, run as its README says."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.testing.command import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "embed"


def test_functions_are_tools_a_hook_refuses_and_the_gate_asks(agent: Agent) -> None:
    done = agent.run(
        "run",
        "--config",
        str(EXAMPLE / "agent.yaml"),
        "--worker",
        str(EXAMPLE / "worker.py"),
        "--script",
        str(EXAMPLE / "script.yaml"),
        "--tool-output",
        "fill the shelf of moo-2",
    )
    assert done.status == 0, done.err
    assert done.out == "There is no moo-2 left, and I was not allowed to order any.\n"
    assert '-> stock(article:"moo-2")' in done.err
    assert '"pieces":0' in done.err
    assert "-> order(" not in done.err
