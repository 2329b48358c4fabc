"""Calls that a process died in, or still is at: named by every verb, decided by none unseen."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.llm.model import ToolResultBlock
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import (
    CallApproval,
    ToolResult,
)
from fisk_ai.testing.parked import (
    GATED,
    KILLED,
    last,
    records,
    session,
)
from fisk_ai.testing.session_records import (
    claim,
    terminal,
    write_file,
)
from fisk_ai.toolkit.gate import IN_DOUBT_REASON


def test_a_call_that_may_have_run_is_not_approved_unseen_and_denied_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", GATED[0], claim(), terminal("suspended"))
    assert session(tmp_path, "approve", "one", "g1") == 1
    assert "call g1 is in doubt, for it may have run already" in capsys.readouterr().err
    assert session(tmp_path, "pending", "--json") == 0
    calls = cast("list[dict[str, object]]", json.loads(capsys.readouterr().out)["calls"])
    assert [call.get("in_doubt") for call in calls] == [True, None]
    assert session(tmp_path, "deny", "one", "g1") == 0
    expected = ToolResultBlock("g1", IN_DOUBT_REASON, is_error=True)
    assert last(tmp_path) == ToolResult(tool_use_id="g1", result=expected)


def test_a_call_that_a_process_died_in_is_named_with_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED)
    assert session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines()]
    assert "Status: open" in lines
    resumed = "Pending: an in-flight tool batch will resume first"
    assert f"{resumed}; call g1 of it may have run already" in lines
    assert 'g1 (in doubt): rm(n:1.0, path:"/x")' in lines
    assert any(line.startswith("in doubt, for it may have run already") for line in lines)
    assert "session deny" not in out
    assert any(line.startswith("resume with: fisk-ai run --resume one ") for line in lines)
    assert "g2" not in out
    assert session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert "│ in doubt │" in printed.out
    assert "a call marked so is in doubt, for it may have run already" in printed.err
    for words in (["approve"], ["approve", "g1"], ["deny"], ["answer", "--confirm", "yes"]):
        assert session(tmp_path, words[0], "one", *words[1:]) == 1
        assert "call g1 is in doubt" in capsys.readouterr().err
    assert len(records(tmp_path)) == len(KILLED) + 1


def test_a_call_in_doubt_that_a_run_parked_at_is_refused_and_leaves_no_other_in_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED, claim(), terminal("suspended"))
    assert session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert f"refuse it with: fisk-ai session deny one g1 --state-dir {tmp_path}" in out
    assert session(tmp_path, "deny", "one", "g1") == 0
    err = capsys.readouterr().err
    assert "the agent is told that its outcome is unknown" in err
    assert "still waiting: g2 (approve) say()\n  decide with: " in err


def test_an_approval_from_before_a_doubt_hides_no_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = CallApproval(tool_use_id="g1", tool_name="rm")
    write_file(tmp_path, "one", *GATED, approval, claim())
    assert session(tmp_path, "pending", "--json") == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert (call["tool_use_id"], call["in_doubt"]) == ("g1", True)


def test_a_session_that_a_process_runs_is_said_to_run_and_never_in_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED)
    holder = asyncio.run(FileStore(tmp_path).open("one"))
    told = f"in another process (pid {os.getpid()}): what it asks is answered there"
    assert session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert printed.out == "Nothing waits for an answer\n"
    assert printed.err == f"session one runs {told}\n"
    assert session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"Running: {told}" in lines
    assert "Pending: a tool batch is under way" in lines
    for words in (["approve"], ["deny"], ["answer", "--confirm", "yes"]):
        assert session(tmp_path, words[0], "one", *words[1:]) == 1
        assert 'session "one" is running in another process (pid ' in capsys.readouterr().err
    asyncio.run(holder.close())
    assert len(records(tmp_path)) == len(KILLED) + 1
