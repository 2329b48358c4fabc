"""``fisk-ai session`` over a real file store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.session import VERBS
from fisk_ai.cli.session_advice import IN_DOUBT
from fisk_ai.cli.times import local_time, moment
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Decision, Deferred, Payload
from fisk_ai.testing import session_records as written

_IN_FLIGHT = "an in-flight tool batch will resume first"
_NOT_A_PERSONS = (
    "not a person's to answer: the program behind its tool ask does, with "
    "fisk_ai.sessions.supply.supply"
)
_NEEDED = (
    "FILE is the script that played the model",
    "run it beside the agent's agent.yaml, or add --config with that file",
    (
        "type it in the folder where the run was started, which an agent without a root_directory"
        " works in"
    ),
)


async def _write(directory: Path, session_id: str, *payloads: Payload, prompt: str) -> None:
    meta = replace(written.meta(prompt), conversation_token="secret-token", caller="fisk-ai")
    journal = await FileStore(directory).create(session_id, meta)
    for payload in payloads:
        await journal.append(journal.last_seq() + 1, payload)
    await journal.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    directory = tmp_path / "runs"
    done = (written.assistant(say="Moo."), written.terminal())
    parked = (
        written.assistant("c1", "c2"),
        Decision(tool="say"),
        Deferred(tool_use_id="c1", tool_name="ask", note="which\x1b[31m colour?", handle="h1"),
    )
    asyncio.run(_write(directory, "older", *done, prompt="say\nmoo " + "x" * 60))
    asyncio.run(_write(directory, "newer", *parked, prompt="wait\x1b[2J here"))
    return directory


def _session(directory: Path, *words: str) -> int:
    return main(["session", "--state-dir", str(directory), *words])


def test_sessions_are_listed_with_their_status(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _session(store, "ls") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("│")[1:6] == [
        " ID    ",
        " Model ",
        " Status    ",
        " Updated             ",
        f" {'Prompt':<51} ",
    ]
    rows = {line.split("│")[1].strip(): line for line in lines[3:5]}
    assert " completed " in rows["older"]
    assert f" say moo {'x' * 42}… " in rows["older"]
    assert " open " in rows["newer"]
    assert " wait here " in rows["newer"]


def test_list_is_another_name_and_flags_may_follow(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "list", "--state-dir", str(store)]) == 0
    assert "older" in capsys.readouterr().out


def test_an_empty_store_says_where_else_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["session", "ls"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No checkpointed sessions; pass --config")


def test_an_empty_store_that_was_named_is_the_one_that_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert _session(tmp_path / "empty", "ls") == 0
    assert capsys.readouterr().out == "No checkpointed sessions\n"


def test_a_typed_state_directory_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _session(tmp_path / "none", "ls") == 0
    printed = capsys.readouterr()
    assert printed.out == f"No checkpointed sessions: {tmp_path / 'none'} does not exist\n"
    assert printed.err == ""


def test_a_store_of_damaged_sessions_is_not_called_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "older.json").write_bytes(b"damage\n")
    assert _session(tmp_path, "ls") == 0
    printed = capsys.readouterr()
    assert printed.out == "No checkpointed sessions that can be read\n"
    assert printed.err.startswith("1 session is left out, which cannot be read; to read why: ")


def test_a_damaged_session_is_left_out_and_that_is_said(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "older.json").write_bytes(b"damage\n")
    (store / "no id.json").write_bytes(b"")
    assert _session(store, "ls") == 0
    printed = capsys.readouterr()
    assert "older" not in printed.out
    assert printed.err == (
        "1 session is left out, which cannot be read; to read why: fisk-ai session show older"
        f" --state-dir {store}\n"
    )


@pytest.mark.parametrize("torn", [b"", b"\n", b'{"seq":1,"prot'])
def test_a_session_whose_creation_died_holds_nothing_and_is_skipped_in_silence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], torn: bytes
) -> None:
    (tmp_path / "unborn.json").write_bytes(torn)
    assert _session(tmp_path, "ls") == 0
    printed = capsys.readouterr()
    assert printed.out == "No checkpointed sessions\n"
    assert printed.err == ""


def test_a_session_is_shown_as_a_document(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _session(store, "view", "newer") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Session newer:",
        "",
        "              Caller: fisk-ai",
        "  Conversation token: secret-token (a caller sends this to continue)",
        "              Status: open",
        "               Model: small",
        "           Next iter: 1",
        "           LLM calls: 1",
        "          Tool calls: 0 (remote 0, mcp 0)",
        "              Tokens: 20 of 1000 budget (10 in / 10 out)",
        f"             Pending: {_IN_FLIGHT}; call c2 of it may have run already",
        "           Approvals: say",
        "",
        "  Waiting on:",
        "",
        "    c1 -> ask: which colour? (h1)",
        f"      {_NOT_A_PERSONS}",
        '    c2 (in doubt): say(message:"Moo")',
        f"      {IN_DOUBT}",
        f"    resume with: fisk-ai run --resume newer --state-dir {store} --script FILE",
        *(f"    {line}" for line in _NEEDED),
        "",
        "  Prompt:",
        "",
        "    wait here",
    ]


def test_removed_sessions_are_gone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _session(store, "rm", "older", "newer") == 0
    assert capsys.readouterr().out == "Removed session older\nRemoved session newer\n"
    assert list(store.glob("*.json")) == []


def test_a_damaged_session_can_be_removed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = store / "older.json"
    journal.write_bytes(b"damage\n" + journal.read_bytes())
    assert _session(store, "show", "older") == 1
    assert capsys.readouterr().err.startswith("fisk-ai: error: ")
    assert _session(store, "delete", "older") == 0
    assert not journal.exists()


def test_reading_takes_no_session_from_whoever_runs_it(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holder = asyncio.run(FileStore(store).open("older"))
    assert _session(store, "show", "older") == 0
    assert _session(store, "rm", "older") == 1
    assert "fisk-ai: error: " in capsys.readouterr().err
    asyncio.run(holder.close())


def test_a_configuration_selects_the_store(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(
        f"harness: {{sessions: {{backend: file, options: {{directory: {store}}}}}}}\n",
        encoding="utf-8",
    )
    assert main(["session", "--config", str(config), "ls"]) == 0
    assert "older" in capsys.readouterr().out


def test_a_missing_configuration_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", "--config", str(tmp_path / "none.yaml"), "ls"]) == 1
    assert capsys.readouterr().err.startswith("fisk-ai: error: reading config ")


def test_a_state_directory_that_cannot_be_used_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert _session(tmp_path / "file" / "runs", "ls") == 1
    err = capsys.readouterr().err
    assert str(tmp_path / "file" / "runs") in err
    assert len(err.splitlines()) == 1


def test_times_are_shown_on_the_readers_clock() -> None:
    text = "2026-03-04T10:11:12.123456789Z"
    parsed = moment(text)
    assert parsed is not None
    assert local_time(text) == parsed.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    assert local_time("soon\x1b[1m") == "soon"
    assert moment("2026-03-04T10:11:12") is None


def test_help_lists_every_verb_and_an_unknown_one_is_refused_with_the_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["session", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: fisk-ai session [--config FILE] ")
    assert "'fisk-ai session VERB --help' says more about one of them." in shown
    for verb in VERBS:
        assert f"  {verb.name}" in shown
    assert "not built" not in shown
    assert main(["session", "steal"]) == 1
    assert "a subcommand from the list below is required" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["session", verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: fisk-ai session {verb} ")
