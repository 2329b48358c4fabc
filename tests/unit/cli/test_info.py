"""What ``fisk-ai info`` says of the application a configuration wraps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fisk_ai.cli import info

FLAGS = [
    {"name": "region", "help": "Which \x1b[31mcoast"},
    {"name": "port", "help": "Where to dock", "required": True},
    {"name": "depth", "required": True, "default": ["3"]},
    {"name": "trace"},
    {"name": "secret", "hidden": True},
]


def test_every_global_flag_is_shown_with_its_help_and_what_becomes_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {
        "name": "harbour",
        "flags": FLAGS,
        "commands": [{"name": "list", "restricted_schema": {"type": "object"}}],
    }
    (tmp_path / "document.json").write_text(json.dumps(document))
    program = tmp_path / "harbour"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/document.json\n")
    program.chmod(0o755)
    config = tmp_path / "agent.yaml"
    config.write_text(f"application_path: {program}\nglobal_flags: [region]\n")
    assert info.execute(["--config", str(config)]) == 0
    shown = capsys.readouterr().out.split("Exposable application global flags:\n\n")[1]
    assert shown.split("\n\n")[0].splitlines() == [
        "  region [exposed]: Which coast",
        "  port [exposed, required]: Where to dock",
        "  depth [exposed]",
        "  trace",
    ]
