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


def test_the_agent_and_the_place_of_its_sessions_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    document = {
        "name": "harbour",
        "version": "1.2",
        "commands": [{"name": "list", "restricted_schema": {"type": "object"}}],
    }
    (tmp_path / "document.json").write_text(json.dumps(document))
    program = tmp_path / "harbour"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/document.json\n")
    program.chmod(0o755)
    config = tmp_path / "agent.yaml"
    config.write_text("identity: pier\napplication_path: ./harbour\nllm: {model: small}\n")
    assert info.execute(["--config", str(config)]) == 0
    printed = capsys.readouterr()
    lines = [line.strip() for line in printed.out.splitlines()]
    assert "Identity: pier" in lines
    assert f"Application: {program}" in lines
    assert "Calls itself: harbour 1.2" in lines
    assert f"Directory: {tmp_path}/state/fisk-ai/runs" in lines
    assert printed.err == ""


@pytest.mark.parametrize(
    ("llm", "reason"),
    [
        (
            "{model: m, provider: foo}",
            'unknown llm provider "foo": known providers are [anthropic scripted]',
        ),
        (
            "{model: m, options: {x: 1}}",
            "invalid anthropic llm options: unknown key x; it takes none",
        ),
    ],
)
def test_a_model_that_a_run_would_refuse_is_said_and_no_key_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, llm: str, reason: str
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"llm: {llm}\n")
    assert info.execute(["--config", str(config)]) == 0
    assert capsys.readouterr().err == f"warning: a run would be refused: {reason}\n"
