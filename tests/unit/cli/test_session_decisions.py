"""``fisk-ai session answer``, ``approve`` and ``deny`` over the file store."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.session_advice import UNASKED
from fisk_ai.cli.times import local_time
from fisk_ai.llm.model import ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import (
    CallApproval,
    Claim,
    Payload,
    ToolResult,
)
from fisk_ai.testing.parked import (
    BATCH,
    CONFIRM,
    GATED,
    HOSTILE,
    INPUT,
    NOT_A_PERSONS,
    QUESTIONS,
    REMOVE,
    batch,
    deferred,
    last,
    records,
    session,
)
from fisk_ai.testing.session_records import (
    TIME,
    assistant,
    claim,
    result,
    terminal,
    user,
    write_file,
)
from fisk_ai.toolkit.builtin import hitl
from fisk_ai.toolkit.gate import DECLINED_REASON


@pytest.mark.parametrize(
    ("call", "flags", "content"),
    [
        ("q1", ["--confirm", "yes"], '{"confirmed":true}'),
        ("q1", ["--confirm", "no"], '{"confirmed":false}'),
        ("q2", ["--select", "red"], '{"selected":"red"}'),
        ("q2", ["--select", "blue red"], '{"selected":"blue red"}'),
        ("q3", ["--input", " é\n"], '{"value":" é\\n"}'),
        ("q3", ["--input", ""], '{"value":""}'),
        (
            "q3",
            ["--no-operator"],
            f'{{"value":null,"reason":"{hitl.CALLER_HAS_NO_OPERATOR}"}}',
        ),
        (
            "q1",
            ["--no-operator"],
            f'{{"confirmed":false,"reason":"{hitl.CALLER_HAS_NO_OPERATOR}"}}',
        ),
    ],
)
def test_an_answer_is_recorded_as_the_tool_would_have_given_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    call: str,
    flags: list[str],
    content: str,
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert session(tmp_path, "answer", "one", call, *flags) == 0
    printed = capsys.readouterr()
    assert printed.out == "recorded\n"
    assert last(tmp_path) == ToolResult(tool_use_id=call, result=ToolResultBlock(call, content))
    assert len(records(tmp_path)) == len(QUESTIONS) + 2
    *waiting, resume, script, beside, there = printed.err.splitlines()
    said = [line for line in waiting if not line.startswith("  ")]
    assert [line.split()[:3] for line in said] == [
        ["still", "waiting:", other] for other in ("q1", "q2", "q3", "q4") if other != call
    ]
    assert resume == f"resume with: fisk-ai run --resume one --state-dir {tmp_path} --script FILE"
    assert script == "FILE is the script that played the model"
    assert beside.startswith("run it beside the agent's agent.yaml")
    assert there.startswith("type it in the folder where the run was started")


def test_the_only_question_needs_no_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = batch(INPUT, ToolUseBlock("g1", "rm", REMOVE))
    write_file(tmp_path, "one", uses, deferred("q3", hitl.INPUT), terminal("suspended"))
    assert session(tmp_path, "answer", "one", "--input", "x") == 0
    assert session(tmp_path, "approve", "one") == 0
    assert capsys.readouterr().out == "recorded\nrecorded\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["q1"], "exactly one of --confirm, --select, --input, --no-operator"),
        (["q1", "--confirm", "yes", "--no-operator"], "exactly one of"),
        (["q1", "--confirm", "maybe"], "--confirm takes yes or no"),
        (["q1", "--input", "yes"], "call q1 asks for --confirm"),
        (["q2", "--select", "1"], "option of call q2: 'red', 'blue red'"),
        (["q3", "--input", "x" * 4097], "at most 4096 characters"),
        (["q4", "--input", "x"], f"call q4 is {NOT_A_PERSONS}"),
        (["q4", "--no-operator"], f"call q4 is {NOT_A_PERSONS}"),
        (["q9", "--input", "x"], "does not wait on call q9: it is suspended"),
        (["--input", "x"], '4 calls of session "one" may be meant, name one of them: q1 (c'),
        (["q1", "--confirm", "yes", "--nats-context", "x"], "needs an agent to address"),
        (["q1", "--confirm", "yes", "--identity", "x"], "only applies with --nats-context"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_records_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], named: str
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert session(tmp_path, "answer", "one", *words) == 1
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert named in printed.err
    assert len(records(tmp_path)) == len(QUESTIONS) + 1


def test_whoever_answers_late_is_told_when_and_by_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(
        tmp_path,
        "one",
        batch(CONFIRM, INPUT),
        deferred("q1", hitl.CONFIRM),
        deferred("q3", hitl.INPUT),
        terminal("suspended"),
        ToolResult(tool_use_id="q1", result=ToolResultBlock("q1", "{}")),
        Claim(by=f"cow@barn {HOSTILE}", claimed=TIME),
        result("q3"),
    )
    assert session(tmp_path, "answer", "one", "q1", "--confirm", "yes") == 1
    assert session(tmp_path, "answer", "one", "q3", "--input", "x") == 1
    at = [local_time(f"2026-07-24T09:15:{second:02d}Z") for second in (7, 9)]
    assert capsys.readouterr().err.splitlines() == [
        f"fisk-ai: error: call q1 was answered at {at[0]} from outside the run",
        f"fisk-ai: error: call q3 was answered at {at[1]} by a run (cow@barn red)",
    ]


def test_an_approval_is_bound_to_the_arguments_that_were_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "approve", "one", "g1", "--args") == 0
    printed = capsys.readouterr()
    assert printed.out == '{"path":"/x","n":1.0}\nrecorded\n'
    assert printed.err.splitlines()[0] == '-> rm(n:1.0, path:"/x")'
    assert "configuration of the run that goes on" in printed.err.splitlines()[1]
    assert "at a terminal; where nobody can be asked, the call is denied" in printed.err
    assert printed.err.splitlines()[-4].startswith("resume with: fisk-ai run --resume one ")
    digest = args_sha256("rm", REMOVE)
    assert last(tmp_path) == CallApproval(tool_use_id="g1", tool_name="rm", args_sha256=digest)
    state = asyncio.run(FileStore(tmp_path).load("one"))
    assert set(state.one_shot_approvals) == {"g1"}


def test_several_calls_are_approved_one_after_another_and_each_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "approve", "one") == 1
    assert "may be meant, name one of them: g1 (approve) rm(" in capsys.readouterr().err
    assert session(tmp_path, "approve", "one", "g1") == 0
    assert session(tmp_path, "approve", "one", "g1") == 1
    assert "call g1 is approved already" in capsys.readouterr().err
    assert session(tmp_path, "approve", "one") == 0
    assert set(asyncio.run(FileStore(tmp_path).load("one")).one_shot_approvals) == {"g1", "g2"}
    assert session(tmp_path, "pending") == 0
    assert "Nothing waits" in capsys.readouterr().out


def test_a_denial_is_what_the_model_reads_of_the_call(tmp_path: Path) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "approve", "one", "g1") == 0
    assert session(tmp_path, "deny", "one", "g1") == 0
    payload = last(tmp_path)
    assert isinstance(payload, ToolResult)
    assert json.loads(payload.result.content) == {"allowed": False, "reason": DECLINED_REASON}
    assert (payload.result.is_error, payload.kind, payload.dispatched) == (False, "", False)
    pending = asyncio.run(FileStore(tmp_path).load("one")).pending
    assert pending is not None
    assert pending.answered == {"g1"}


def test_always_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert session(tmp_path, "approve", "one", "g1", "--always") == 1
    assert "cannot be recorded in a file before the call has run" in capsys.readouterr().err
    assert len(records(tmp_path)) == len(GATED) + 1


@pytest.mark.parametrize("verb", ["approve", "deny"])
@pytest.mark.parametrize(
    ("payloads", "call", "named"),
    [
        (QUESTIONS, ["q1"], "has begun and waits for its answer"),
        ((batch(CONFIRM), terminal("suspended")), ["q1"], "call q1 is still to be asked"),
        (QUESTIONS, ["q4"], f"call q4 is {NOT_A_PERSONS}"),
        ((*GATED, claim()), ["g2"], "does not wait on call g2"),
        ((assistant(say="x"), terminal()), [], "waits on nothing: it is completed"),
        ((*GATED, result("g1"), claim()), ["g1"], "was answered at"),
        (GATED, ["g1", "--nats-context", "x"], "needs an agent to address"),
    ],
)
def test_only_a_call_that_a_run_stopped_before_is_decided_about(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    payloads: tuple[Payload, ...],
    call: list[str],
    named: str,
) -> None:
    write_file(tmp_path, "one", *payloads)
    assert session(tmp_path, verb, "one", *call) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert named in printed.err
    assert len(records(tmp_path)) == len(payloads) + 1


def test_a_question_that_was_not_put_off_is_asked_by_the_next_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", batch(CONFIRM), terminal("suspended"))
    assert session(tmp_path, "answer", "one", "--confirm", "yes") == 1
    assert "resume the session at a terminal, which asks it" in capsys.readouterr().err
    write_file(tmp_path, "two", *GATED)
    assert session(tmp_path, "answer", "two", "g1", "--confirm", "yes") == 1
    assert "waits for a decision, not for an answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["answer", "one", "q1", "--confirm", "yes"],
        ["approve", "two", "g1"],
        ["deny", "two", "g1"],
    ],
)
def test_a_session_that_runs_is_left_to_whoever_runs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    write_file(tmp_path, "two", *GATED)
    holders = [asyncio.run(FileStore(tmp_path).open(name)) for name in ("one", "two")]
    assert session(tmp_path, *words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f'session "{words[1]}" is running in another process' in printed.err
    assert f"(pid {os.getpid()}); answer it there or over NATS (--nats-context)" in printed.err
    for holder in holders:
        asyncio.run(holder.close())
    assert len(records(tmp_path, "one")) == len(QUESTIONS) + 1
    assert len(records(tmp_path, "two")) == len(GATED) + 1


@pytest.mark.parametrize("verb", ["answer", "approve", "deny"])
def test_an_unknown_session_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    flags = ["--confirm", "yes"] if verb == "answer" else []
    assert session(tmp_path / "none", verb, "one", *flags) == 1
    assert "there is no session by that id" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_hint_finds_the_session_again_by_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "my agent.yaml"
    config.write_text(
        f"harness: {{sessions: {{backend: file, options: {{directory: {tmp_path}}}}}}}\n",
        encoding="utf-8",
    )
    write_file(tmp_path, "one", *GATED)
    assert main(["session", "approve", "--config", str(config), "one", "g1"]) == 0
    resume, script, there = capsys.readouterr().err.splitlines()[-3:]
    assert resume == f"resume with: fisk-ai run --resume one --config '{config}' --script FILE"
    assert script == "FILE is the script that played the model"
    assert there.startswith("type it in the folder where the run was started")


def test_a_damaged_session_is_named_by_every_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(tmp_path, "one", user("x"))
    path.write_bytes(b"\n".join([*path.read_bytes().splitlines()[:1]] * 2) + b"\n")
    for words in (["stats"], ["query"], ["approve"], ["deny"], ["answer", "--input", "x"]):
        assert session(tmp_path, words[0], "one", *words[1:]) == 1
        assert "fisk-ai: error: session one: record 1 stands behind" in capsys.readouterr().err
    assert session(tmp_path, "pending") == 0
    assert "1 session is left out" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [["approve"], ["deny"], ["answer", "--confirm", "yes"]])
def test_a_second_decision_without_a_name_is_told_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    only = batch(ToolUseBlock("g1", "rm", REMOVE))
    write_file(tmp_path, "one", only, terminal("suspended"))
    assert session(tmp_path, "deny", "one") == 0
    capsys.readouterr()
    assert session(tmp_path, verb[0], "one", *verb[1:]) == 1
    said = capsys.readouterr().err
    assert "waits on nothing: call g1 was answered at " in said
    assert "from outside the run" in said


def test_whoever_decides_is_told_all_that_still_waits_and_what_decides_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *BATCH)
    assert session(tmp_path, "answer", "one", "--confirm", "yes") == 0
    decides = f"decide with: fisk-ai session approve one g1 --state-dir {tmp_path}"
    assert capsys.readouterr().err.splitlines()[:-4] == [
        "still waiting: q2 (confirm, unasked) Sure?",
        f"  {UNASKED}",
        'still waiting: g1 (approve) rm(n:1.0, path:"/x")',
        f"  {decides}, or deny in place of approve",
    ]
    assert session(tmp_path, "approve", "one") == 0
    err = capsys.readouterr().err
    assert "still waiting: q2" in err
    assert "still waiting: g1" not in err


def test_a_store_that_is_relative_to_where_we_are_is_named_by_a_hint_that_goes_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "agent.yaml"
    config.write_text("harness: {sessions: {options: {directory: kept}}}\n", encoding="utf-8")
    (tmp_path / "kept").mkdir()
    write_file(tmp_path / "kept", "one", *GATED)
    assert main(["session", "approve", "--config", "agent.yaml", "one", "g1"]) == 0
    start = f"resume with: cd {tmp_path} && fisk-ai run --resume one --config {config}"
    assert capsys.readouterr().err.splitlines()[-2].startswith(start)
