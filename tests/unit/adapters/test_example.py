"""The example's program runs with the Python of whoever calls it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "cowsay"


@pytest.fixture
def cowsay(tmp_path: Path) -> Path:
    """A copy with no environment in any folder above it."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "cowsay")) / "cowsay"


def call(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments],
        env={"PATH": os.defpath},
        cwd=program.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_describes_its_commands_without_an_active_environment(cowsay: Path) -> None:
    described = json.loads(call(cowsay, "--fisk-introspect").stdout)
    assert described["name"] == "cowsay"
    tags = {command["name"]: command.get("tags") for command in described["commands"]}
    assert tags == {"say": None, "think": None, "teach": ["ai:confirm"]}


def test_the_cow_says_and_thinks(cowsay: Path) -> None:
    said = call(cowsay, "say", "--width=20", "--", "--moo")
    assert (said.returncode, said.stderr) == (0, "")
    assert "| --moo |" in said.stdout
    assert "(oo)" in said.stdout
    thought = call(cowsay, "think", "--", "hm")
    assert "| hm |" in thought.stdout
    assert "o   ^__^" in thought.stdout


def test_the_cow_learns_a_joke_in_one_line(cowsay: Path) -> None:
    learned = call(cowsay, "teach", "--file=mine.txt", "--", "two\nlines")
    assert learned.stdout == "Learned: two lines\n"
    assert (cowsay.parent / "mine.txt").read_text(encoding="utf-8") == "two lines\n"
