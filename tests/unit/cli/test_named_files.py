"""Files that a command is told to read: what is no regular file is refused, and not waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fisk_ai.cli.main import main


@pytest.mark.parametrize(
    "words",
    [
        ("info", "--config", "PIPE"),
        ("session", "ls", "--config", "PIPE"),
        ("run", "--worker", "PIPE", "go"),
        ("run", "--script", "PIPE", "go"),
        ("run", "--api-key-file", "PIPE", "go"),
        ("run", "--resume", "x", "--config", "PIPE"),
    ],
    ids=" ".join,
)
def test_a_pipe_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    assert main([pipe if word == "PIPE" else word for word in words]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert pipe in line
    assert "is no regular file; " in line


@pytest.mark.integration
def test_a_new_run_refuses_a_pipe_as_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    assert main(["run", "--config", pipe, "--api-key", "k", "go"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f'fisk-ai: error: reading config "{pipe}": it is no regular file; save what it holds to one'
    )


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--script", "x", "go"),
        ("run", "--a2a-debug", "--config", "CONFIG", "go"),
        ("session", "ls", "--state-dir", "x"),
    ],
    ids=" ".join,
)
def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("identity: x", encoding="utf-8")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main([str(config) if word == "CONFIG" else word for word in words]) == 1
    assert capsys.readouterr().err == (
        "fisk-ai: error: the working directory is gone; change to one that is there\n"
    )


def test_links_that_lead_in_a_circle_are_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    assert main(["info", "--config", str(one)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f'fisk-ai: error: reading config "{one}": it is a link that leads back to itself; '
        "name the file, or mend the links"
    )
