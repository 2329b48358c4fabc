"""Every verb takes a conversation's token where it takes a session's id, as --resume does."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.sessions.records import Deferred
from fisk_ai.testing.session_records import assistant, meta, write_file

TOKEN = "_Hunter2-of-a-caller"
SESSION = session_id_for_token("cow", TOKEN)
VERBS = (
    ("show",),
    ("rm", "--dry-run"),
    ("stats",),
    ("query",),
    ("answer", "--input", "yes"),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """One session of an agent, beside one that names no agent and one of another."""
    deferred = Deferred(tool_use_id="a", tool_name="ask_human_input")
    write_file(tmp_path, SESSION, assistant("a"), deferred, opening=meta(agent="cow"))
    write_file(tmp_path, "old", assistant("a"), deferred)
    write_file(tmp_path, "other", assistant("a"), deferred, opening=meta(agent="goat"))
    return tmp_path


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_token_names_the_session_of_its_conversation(
    store: Path, verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", *verb, "--state-dir", str(store), "--", TOKEN]) == 0
    by_token = capsys.readouterr()
    assert "Hunter2" not in by_token.out + by_token.err
    if verb[0] != "answer":
        assert main(["session", *verb, "--state-dir", str(store), "--", SESSION]) == 0
        assert capsys.readouterr() == by_token


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_word_that_names_nothing_may_be_a_token_and_is_not_repeated(
    store: Path, verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", *verb, "--state-dir", str(store), "--", f"{TOKEN}x"]) == 1
    assert capsys.readouterr().err == (
        "fisk-ai: error: there is no session by that id and no conversation by that token; "
        "'fisk-ai session ls' lists what there is\n"
    )


def test_a_decision_by_token_says_how_to_go_on_by_the_sessions_id(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["answer", "--input", "yes", "--state-dir", str(store), "--", TOKEN]
    assert main(["session", *words]) == 0
    assert f"fisk-ai run --resume {SESSION} " in capsys.readouterr().err
