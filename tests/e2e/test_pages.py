"""What the pages tell a reader to do is true: their files are written, their shell blocks run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "first-agent.md"
README = ROOT / "README.md"
HOW_TO = ROOT / "docs" / "how-to"
PAGES = sorted({README, *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")})
FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w+)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match[1], match[2] or "", match[3]


def follow(page: Path, folder: Path) -> list[tuple[str, str, str]]:
    """Do what the page says; return each shell block with what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    environ = {"PATH": path, "HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
    printed: list[tuple[str, str, str]] = []
    for language, title, text in blocks(page):
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        elif language == "sh":
            done = subprocess.run(
                ["/bin/sh", "-ec", text],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{text}{done.stderr}"
            printed.append((text, done.stdout, done.stderr))
    return printed


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    steps = follow(TUTORIAL, tmp_path)
    by_hand, described, info, rehearsed, gate, sessions = steps
    assert by_hand[1] == "HELLO, ANN!\nNobody yet.\n"
    assert described[1].startswith('{"name":"greeter"')
    for words in ("greet", "guests", "remember", "ai:confirm"):
        assert words in info[1]
    assert rehearsed[1] == "Ann has been greeted.\n" * 2
    assert '-> greet(loud:true, name:"Ann")' in rehearsed[2]
    assert "HELLO, ANN!" in rehearsed[2]
    assert gate[1].startswith("I was not allowed to write, so I did not.\n")
    assert gate[1].endswith("Nobody yet.\n")
    assert sessions[1].count("completed") == 3


def test_the_program_of_the_readme_becomes_an_agent(tmp_path: Path) -> None:
    (info,) = follow(README, tmp_path)
    assert "greet " in info[1]
    assert "ai:confirm" in info[1]


def test_a_python_program_becomes_an_agent(tmp_path: Path) -> None:
    info, rehearsed = follow(HOW_TO / "python-program.md", tmp_path)
    assert "ai:confirm, ai:destructive" in info[1]
    assert rehearsed[1] == "I was not allowed to remove it.\n"
    assert (tmp_path / "jobs" / "nightly").exists()


def test_a_program_without_a_library_becomes_an_agent(tmp_path: Path) -> None:
    (rehearsed,) = follow(HOW_TO / "fisk-program.md", tmp_path)
    assert "There is room left.\n" in rehearsed[1]
    assert '-> usage(human:true, path:"/")' in rehearsed[2]
    assert "unknown command" not in rehearsed[2]


def test_the_guard_rails_hold(tmp_path: Path) -> None:
    info, rehearsed = follow(HOW_TO / "guard-rails.md", tmp_path)
    assert "format" not in info[1]
    assert rehearsed[1] == "I read it and was not allowed to write it.\n"
    for secret in ("ann@example.com", "AKIAIOSFODNN7EXAMPLA"):
        assert secret not in rehearsed[2]
    assert "-REDACTED]" in rehearsed[2]


def test_a_failed_run_is_finished_and_looked_into(tmp_path: Path) -> None:
    failed, finished, listed, looked, pending, cleaned = follow(
        HOW_TO / "resume-and-inspect.md", tmp_path
    )
    assert failed[1] == "it failed, as it should\n"
    assert finished[1] == "Both steps are done.\n"
    assert finished[2].count("-> second()") == 1
    assert listed[1].count("completed") >= 2
    assert "second done" in looked[1]
    assert pending[1] == "Nothing waits for an answer\n"
    assert cleaned[1] == "Nothing to remove\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_block_that_goes_on_behind_a_run_does_so_at_a_terminal_too(page: Path) -> None:
    for block in FENCED.findall(page.read_text(encoding="utf-8")):
        commands = block.replace("\\\n", " ").splitlines()
        for line in commands[:-1]:
            is_chat = "fisk-ai run" in line and "$(" not in line and "--no-tui" not in line
            assert not is_chat, line


def test_the_pages_on_sessions_look_at_a_store_of_their_own() -> None:
    for text in (
        text for language, _, text in blocks(HOW_TO / "resume-and-inspect.md") if language == "sh"
    ):
        for line in text.splitlines():
            assert "fisk-ai " not in line or "--state-dir runs" in line, line


def test_an_agent_is_tested_with_a_script(tmp_path: Path) -> None:
    _, tested = follow(HOW_TO / "test-an-agent.md", tmp_path)
    assert "1 passed" in tested[1]


def test_a_fleet_works_answers_and_survives_the_death_of_a_worker(tmp_path: Path) -> None:
    try:
        _, provisioned, _, discovered, worked, typed, answered, asked, killed, told, ended = follow(
            HOW_TO / "run-a-fleet.md", tmp_path
        )
    finally:
        for file in tmp_path.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGTERM)
    assert "nats stream add DESK_RUNS" in provisioned[1]
    assert "DESK_RUNS: created" in provisioned[2]
    assert discovered[1].startswith("Agent desk:")
    assert worked[1].startswith("All is well.\n")
    assert "nightly" in worked[1]
    assert typed[1] == "All is well.\n"
    assert answered[1] == "All is well.\n"
    assert asked[1].endswith("recorded\nThe logs may be pruned.\n")
    assert killed[1] == "The migration would work.\n"
    assert told[1].count("completed") >= 2
    assert "2 databases would be migrated" in told[1]
    assert ended[2] == ""
