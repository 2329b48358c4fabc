"""What a run writes beside the conversation, and a worker of one's own."""

from __future__ import annotations

import json
import stat

import pytest

from fisk_ai.testing.command import Agent

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

_WORKER = """\
import sys

from fisk_ai.toolkit.typed import tool
import agent_worker


@tool()
async def moon(phase: str) -> str:
    \"\"\"Say how the moon looks.

    Args:
        phase: which one
    \"\"\"
    return f"a {phase} moon"


if __name__ == "__main__":
    sys.exit(agent_worker.serve(tools=[moon]))
"""


def test_a_trace_is_a_new_private_file_of_json_lines(agent: Agent) -> None:
    done = agent.rehearse("go", "--trace", "trace.jsonl")
    assert done.status == 0
    trace = agent.home / "trace.jsonl"
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["session", "summary"]
    again = agent.rehearse("go", "--trace", "trace.jsonl")
    assert again.status == 1
    (refused,) = again.err.splitlines()
    assert refused.startswith("fisk-ai: error: creating trace file: ")


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_the_models_traffic_goes_to_a_private_file_that_is_named(agent: Agent, way: str) -> None:
    planted = agent.home / "planted"
    planted.write_text("mine", encoding="utf-8")
    dump = agent.home / "http-debug.log"
    dump.symlink_to(planted)
    if way == "flag":
        done = agent.rehearse("go", "--http-debug")
    else:
        done = agent.rehearse("go", environ={"HTTP_DEBUG": "1"})
    assert done.status == 0
    assert done.err.startswith(
        "Dumping Anthropic API request and response bodies to http-debug.log (contains the full "
    )
    assert stat.S_IMODE(dump.lstat().st_mode) == 0o600
    assert not dump.is_symlink()
    assert planted.read_text(encoding="utf-8") == "mine"


def test_a_worker_of_ones_own_brings_its_tools(agent: Agent) -> None:
    (agent.home / "worker.py").write_text(_WORKER, encoding="utf-8")
    agent.script("{call: [{tool: moon, input: {phase: new}}]}", "{say: Dark.}")
    done = agent.rehearse("go", "--worker", "worker.py", "--tool-output")
    assert done.status == 0
    assert done.out == "Dark.\n"
    assert '-> moon(phase:"new")\n<-\na new moon\n' in done.err


def test_a_worker_that_cannot_be_read_or_is_none_is_refused_in_words(agent: Agent) -> None:
    refused = agent.rehearse("go", "--worker", "none.py")
    assert refused.err == (
        'fisk-ai: error: --worker "none.py" cannot be read: No such file or directory\n'
    )
    (agent.home / "worker.py").write_text("raise SystemExit('no worker')\n", encoding="utf-8")
    ended = agent.rehearse("go", "--worker", "worker.py")
    assert ended.status == 1
    assert ended.err.endswith("the agent worker ended before it was ready: no worker\n")
