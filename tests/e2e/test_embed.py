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


_BROKEN_HOOK = """\
import sys

from fisk_ai.agent.hooks import Hooks
import agent_worker


async def look(call):
    raise RuntimeError("the hook fell over")


if __name__ == "__main__":
    sys.exit(agent_worker.serve(hooks=Hooks(pre_tool_use=look)))
"""


def test_a_hook_that_fails_is_told_in_one_line_and_its_stack_with_verbose_alone(
    agent: Agent,
) -> None:
    worker = agent.home / "worker.py"
    worker.write_text(_BROKEN_HOOK, encoding="utf-8")
    agent.script("{call: [{tool: say, input: {message: hi}}]}", "say: Done.")
    done = agent.rehearse("go", "--worker", "worker.py")
    assert done.status == 1
    (shown,) = (line for line in done.err.splitlines() if line.startswith("agent log: "))
    assert shown == f"agent log: RuntimeError: the hook fell over ({worker}, line 8)"
    assert "Traceback" not in done.err
    told = agent.rehearse("go", "--worker", "worker.py", "--verbose").err
    assert "Traceback (most recent call last):\n" in told
