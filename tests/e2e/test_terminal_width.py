"""What is shown fits the terminal it is shown on, and uses all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fisk_ai.render.tables import cell_width
from fisk_ai.sessions.listing import SUFFIX
from fisk_ai.testing.command import Agent, Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-z]", re.IGNORECASE)
_LONG = "It goes on and on about cows. " * 8


def _show(agent: Agent, *words: str, columns: int) -> list[str]:
    """Return the lines that a terminal of so many columns shows."""
    errors = agent.home / "errors"
    terminal = Terminal(agent, *words, shows_output=True, errors=errors, columns=columns)
    done = terminal.end()
    assert done.status == 0, errors.read_text(encoding="utf-8")
    return _STYLE.sub("", done.err).split("\n")


def _broken(lines: list[str], home: Path) -> list[int]:
    """Return the columns of the lines that may be broken: a path is there to be copied."""
    return [cell_width(line) for line in lines if str(home) not in line]


@pytest.mark.parametrize("columns", [50, 100, 150])
def test_what_is_shown_fits_the_terminal_and_uses_it(agent: Agent, columns: int) -> None:
    agent.configure(
        f"identity: cow\napplication_path: {agent.application.path}\n"
        f"system_prompt: {_LONG}\nllm: {{model: small}}\n"
    )
    agent.script(f"say: '{_LONG}'")
    answer = _show(agent, "run", "--script", "script.yaml", "--no-tui", "x" * 200, columns=columns)
    info = _show(agent, "info", columns=columns)
    listing = _show(agent, "session", "ls", columns=columns)
    (session,) = (path.stem for path in agent.sessions.glob(f"t-*{SUFFIX}"))
    transcript = _show(agent, "session", "show", "--transcript", session, columns=columns)
    prose = transcript[transcript.index("--- answer ---") :]
    for lines in (answer, info, prose):
        assert columns - 8 < max(_broken(lines, agent.home)) <= columns
    assert ("╭" in listing[0]) == (columns == 150)  # a table needs more than an id's 66 columns
    assert all(cell_width(line) <= columns for line in listing if line != session)


def test_an_exported_number_of_columns_counts_before_the_terminal(agent: Agent) -> None:
    agent.environ["COLUMNS"] = "60"
    agent.script(f"say: '{_LONG}'")
    answer = _show(agent, "run", "--script", "script.yaml", "--no-tui", "go", columns=100)
    assert 52 < max(_broken(answer, agent.home)) <= 60


def test_help_fits_the_terminal(agent: Agent) -> None:
    widths = _broken(_show(agent, "run", "--help", columns=120), agent.home)
    assert 100 < max(widths) <= 120


def test_a_chat_tells_of_its_agent_once_and_keeps_what_looks_like_html(agent: Agent) -> None:
    agent.extend("harness: {confirm_tags: [danger]}\n")
    agent.script("say: 'git push <remote>'", "say: 'a vector<int>'")
    chat = Terminal(agent, "run", "--script", "script.yaml", "go", shows_output=True, columns=100)
    chat.wait_input()
    chat.type("and then?\n")
    chat.wait_input(times=2)
    chat.type("/clear begin anew\n")
    chat.wait_input(times=3)
    chat.type("/exit\n")
    shown = _STYLE.sub("", chat.end().err)
    assert shown.count("warning from agent") == 1
    assert "danger" in shown
    assert shown.count("git push <remote>") == 2  # a new conversation begins the script anew
    assert "a vector<int>" in shown
