"""Every command of the sample program, called by the product's own tools in each library."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.config import Mode, loads
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.fisk.application import load

PROGRAMS = Path(__file__).parent / "programs"

CALLS: dict[str, dict[str, object]] = {
    "say": {
        "token": "abc",
        "verbose": True,
        "message": "--moo @file",
        "colour": "blue",
        "times": 3,
        "pitch": 0.5,
        "tag": ["a", "-b"],
        "shout": True,
        "many": True,
    },
    "teach": {"token": "abc", "jokes": ["one", "@two"], "name": "-Ann", "verbose": "high"},
    "user_add": {"token": "abc", "verbose": False, "name": "Zoë"},
}


def program(folder: Path, library: str) -> Path:
    started = folder / "sample"
    started.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAMS / f"{library}_program.py"}" "$@"\n',
        encoding="utf-8",
    )
    started.chmod(0o755)
    return started


async def answers(folder: Path, library: str) -> dict[str, object]:
    """Return what each command printed, called through the tools an agent has."""
    text = f"application_path: {program(folder, library)}\nglobal_flags: [verbose]\n"
    config = loads(text, Mode.LENIENT, source=folder / "agent.yaml")
    application = await load(config, environ=os.environ)
    assert sorted(tool.name for tool in application.tools) == sorted(CALLS)
    given: dict[str, object] = {}
    for tool in application.tools:
        raw = json.dumps(CALLS[tool.name]).encode()
        outcome = await tool.execute(CallContext(), raw, ExecDeps())
        assert outcome.exec is not None
        assert outcome.exec.exit_code == 0, outcome.output
        printed = outcome.output.splitlines()[-1]  # behind a warning that a command is deprecated
        given[tool.name] = json.loads(printed)
    return given


@pytest.mark.parametrize("library", ["typer", "click", "argparse"])
async def test_every_command_gets_what_the_model_sent(library: str, tmp_path: Path) -> None:
    given = cast("dict[str, dict[str, object]]", await answers(tmp_path, library))
    assert given["say"] == {
        "root": {"token": "abc", "verbose": True},
        "message": "--moo @file",
        "colour": "blue",
        "times": 3,
        "pitch": 0.5,
        "tag": ["a", "-b"],
        "shout": True,
        "secret": "",
        "pair": [1, 2],
        "many": 1,
    }
    assert given["teach"] == {
        "root": {"token": "abc", "verbose": False},
        "jokes": ["one", "@two"],
        "name": "-Ann",
        "level": "high",
    }
    assert given["user_add"] == {"root": {"token": "abc", "verbose": False}, "name": "Zoë"}
