"""A value that arms no fault point is refused in a sentence, wherever it would count."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CALLS = {
    "start": "faults.check()",
    "point": "faults.point(faults.Point.TOOL_BEFORE)",
}
WRITTEN = """
from fisk_ai import faults
from fisk_ai.errors import SetupError
try:
    {call}
except SetupError as exc:
    print(exc)
except faults.InjectedFault as exc:
    print("injected")
"""


def _said(call: str, value: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", WRITTEN.format(call=CALLS[call])],
        env={"FISK_AI_FAULT": value},
        check=True,
        capture_output=True,
        text=True,
    )
    return ended.stdout


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "value",
    ["x", "tool.before", "tool.nowhere=kill", "tool.before#0=raise", "tool.before=stop",
     "tool.before#" + "9" * 5000 + "=kill", "\udcff"],
    ids=["word", "no-action", "no-point", "never", "no-such-action", "endless", "not-utf8"],
)  # fmt: skip
def test_a_value_that_arms_nothing_is_refused_by_its_variable(call: str, value: str) -> None:
    said = _said(call, value)

    assert said.startswith("FISK_AI_FAULT '")
    assert "names no fault point; unset it" in said
    assert len(said.splitlines()) == 1
    assert len(said) < 250


@pytest.mark.parametrize(("value", "said"), [("", ""), ("tool.before=raise", "injected\n")])
def test_a_value_that_arms_a_point_and_none_at_all_are_no_fault(value: str, said: str) -> None:
    assert _said("start", value) == ""
    assert _said("point", value) == said


def test_a_worker_with_a_value_that_arms_nothing_does_not_start(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "agent_worker", "--config", str(tmp_path / "agent.yaml")],
        env={"FISK_AI_FAULT": "x"},
        check=False,
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 1
    assert ended.stderr == (
        "agent_worker: error: FISK_AI_FAULT 'x' names no fault point; unset it, or write"
        " POINT=kill or POINT=raise\n"
    )
