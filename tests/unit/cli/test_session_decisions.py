"""``fisk-ai session pending``, ``answer``, ``approve`` and ``deny`` over the file store."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.session_advice import UNASKED
from fisk_ai.cli.times import local_time
from fisk_ai.llm.model import Message, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.digest import args_sha256
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    Claim,
    Deferred,
    Payload,
    Reason,
    Record,
    Terminal,
    ToolResult,
)
from fisk_ai.testing.session_records import (
    TIME,
    assistant,
    claim,
    meta,
    result,
    terminal,
    user,
    write_file,
)
from fisk_ai.toolkit.builtin import hitl
from fisk_ai.toolkit.gate import DECLINED_REASON, IN_DOUBT_REASON

HOSTILE = "\x1b[31mred\u202e"
REMOVE = b'{ "path":"/x", "n":1.0 }'


def _ask(call: str, tool: str, **arguments: object) -> ToolUseBlock:
    return ToolUseBlock(call, tool, json.dumps(arguments).encode())


def _batch(*uses: ToolUseBlock) -> Assistant:
    return Assistant(
        iteration=0,
        message=Message("assistant", uses),
        stop_reason="tool_use",
        in_tokens=1,
        out_tokens=1,
    )


def _deferred(call: str, tool: str, note: str = "") -> Deferred:
    return Deferred(tool_use_id=call, tool_name=tool, note=note)


CONFIRM = _ask("q1", hitl.CONFIRM, question=f"Really {HOSTILE}?")
SELECT = _ask("q2", hitl.SELECT, question="Which?", options=["red", f"blue {HOSTILE}"])
INPUT = _ask("q3", hitl.INPUT, question="What?")
LATER = _ask("q4", "deploy")
QUESTIONS: tuple[Payload, ...] = (
    _batch(CONFIRM, SELECT, INPUT, LATER),
    _deferred("q1", hitl.CONFIRM),
    _deferred("q2", hitl.SELECT),
    _deferred("q3", hitl.INPUT),
    _deferred("q4", "deploy", f"job {HOSTILE} 7"),
    terminal("suspended"),
)
NOT_A_PERSONS = (
    "not a person's to answer: the program behind its tool deploy does, with "
    "fisk_ai.sessions.supply.supply"
)
GATED: tuple[Payload, ...] = (
    _batch(ToolUseBlock("g1", "rm", REMOVE), _ask("g2", "say", message=HOSTILE)),
    Terminal(reason="suspended", message="nobody answered"),
)


def _session(store: Path, *words: str) -> int:
    return main(["session", words[0], "--state-dir", str(store), *words[1:]])


def _records(store: Path, name: str = "one") -> list[Record]:
    return asyncio.run(FileStore(store).records(name))


def _last(store: Path) -> Payload | None:
    return _records(store)[-1].payload


def test_what_waits_is_listed_over_all_sessions_oldest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = replace(meta(created="2026-07-25T00:00:00Z"), agent="cow")
    write_file(tmp_path, "one", *GATED, opening=newer)
    write_file(tmp_path, "two", *QUESTIONS)
    write_file(tmp_path, "done", assistant("a"), result("a"), terminal())
    write_file(tmp_path, "failed", GATED[0], terminal("error"))
    assert _session(tmp_path, "pending") == 0
    out = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines()]
    first = local_time("2026-07-24T09:15:04Z")
    assert rows[1] == ["Session", "Call", "Kind", "Tool", "Question", "Since", "Agent"]
    assert [row[:5] for row in rows[3:-1]] == [
        ["two", "q1", "confirm", hitl.CONFIRM, "Really red?"],
        ["two", "q2", "select", hitl.SELECT, "Which?"],
        ["two", "q3", "input", hitl.INPUT, "What?"],
        ["two", "q4", "deferred", "deploy", "job red 7"],
        ["one", "g1", "approve", "rm", 'rm(n:1.0, path:"/x")'],
        ["one", "g2", "approve", "say", 'say(message:"red")'],
    ]
    assert rows[3][5] == first
    assert [row[6] for row in rows[3:-1]] == ["", "", "", "", "cow", "cow"]


def test_what_waits_is_there_for_other_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert _session(tmp_path, "pending", "--json", "--limit", "1") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "calls": [
            {
                "run_id": "one",
                "tool_use_id": "q1",
                "kind": "confirm",
                "tool": hitl.CONFIRM,
                "question": f"Really {HOSTILE}?",
                "since": "2026-07-24T09:15:04.5Z",
            }
        ]
    }
    assert printed.out.isascii()
    assert printed.err == "more calls: pass --offset 1\n"


def test_nothing_that_waits_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_file(tmp_path, "one", assistant(say="x"), terminal())
    assert _session(tmp_path, "pending") == 0
    assert capsys.readouterr().out == "Nothing waits for an answer\n"


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
    assert _session(tmp_path, "answer", "one", call, *flags) == 0
    printed = capsys.readouterr()
    assert printed.out == "recorded\n"
    assert _last(tmp_path) == ToolResult(tool_use_id=call, result=ToolResultBlock(call, content))
    assert len(_records(tmp_path)) == len(QUESTIONS) + 2
    *waiting, resume, needed = printed.err.splitlines()
    said = [line for line in waiting if not line.startswith("  ")]
    assert [line.split()[:3] for line in said] == [
        ["still", "waiting:", other] for other in ("q1", "q2", "q3", "q4") if other != call
    ]
    assert resume == f"resume with: fisk-ai run --resume one --state-dir {tmp_path} --script FILE"
    assert needed.startswith("FILE is the script that played its model; run it beside the agent's")
    assert needed.endswith("its commands and its memory are there, so type it there")


def test_the_only_question_needs_no_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = _batch(INPUT, ToolUseBlock("g1", "rm", REMOVE))
    write_file(tmp_path, "one", uses, _deferred("q3", hitl.INPUT), terminal("suspended"))
    assert _session(tmp_path, "answer", "one", "--input", "x") == 0
    assert _session(tmp_path, "approve", "one") == 0
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
        (["q1", "--confirm", "yes", "--nats-context", "x"], "not built yet"),
        (["q1", "--confirm", "yes", "--identity", "x"], "not built yet"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_records_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], named: str
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert _session(tmp_path, "answer", "one", *words) == 1
    printed = capsys.readouterr()
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)
    assert named in printed.err
    assert len(_records(tmp_path)) == len(QUESTIONS) + 1


def test_whoever_answers_late_is_told_when_and_by_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(
        tmp_path,
        "one",
        _batch(CONFIRM, INPUT),
        _deferred("q1", hitl.CONFIRM),
        _deferred("q3", hitl.INPUT),
        terminal("suspended"),
        ToolResult(tool_use_id="q1", result=ToolResultBlock("q1", "{}")),
        Claim(by=f"cow@barn {HOSTILE}", claimed=TIME),
        result("q3"),
    )
    assert _session(tmp_path, "answer", "one", "q1", "--confirm", "yes") == 1
    assert _session(tmp_path, "answer", "one", "q3", "--input", "x") == 1
    at = [local_time(f"2026-07-24T09:15:{second:02d}Z") for second in (7, 9)]
    assert capsys.readouterr().err.splitlines() == [
        f"fisk-ai: error: call q1 was answered at {at[0]} from outside the run",
        f"fisk-ai: error: call q3 was answered at {at[1]} by a run (cow@barn red)",
    ]


def test_an_approval_is_bound_to_the_arguments_that_were_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert _session(tmp_path, "approve", "one", "g1", "--args") == 0
    printed = capsys.readouterr()
    assert printed.out == '{"path":"/x","n":1.0}\nrecorded\n'
    assert printed.err.splitlines()[0] == '-> rm(n:1.0, path:"/x")'
    assert "configuration of the run that goes on" in printed.err.splitlines()[1]
    assert "at a terminal; where nobody can be asked, the call is denied" in printed.err
    assert printed.err.splitlines()[-2].startswith("resume with: fisk-ai run --resume one ")
    digest = args_sha256("rm", REMOVE)
    assert _last(tmp_path) == CallApproval(tool_use_id="g1", tool_name="rm", args_sha256=digest)
    state = asyncio.run(FileStore(tmp_path).load("one"))
    assert set(state.one_shot_approvals) == {"g1"}


def test_several_calls_are_approved_one_after_another_and_each_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert _session(tmp_path, "approve", "one") == 1
    assert "may be meant, name one of them: g1 (approve) rm(" in capsys.readouterr().err
    assert _session(tmp_path, "approve", "one", "g1") == 0
    assert _session(tmp_path, "approve", "one", "g1") == 1
    assert "call g1 is approved already" in capsys.readouterr().err
    assert _session(tmp_path, "approve", "one") == 0
    assert set(asyncio.run(FileStore(tmp_path).load("one")).one_shot_approvals) == {"g1", "g2"}
    assert _session(tmp_path, "pending") == 0
    assert "Nothing waits" in capsys.readouterr().out


def test_a_denial_is_what_the_model_reads_of_the_call(tmp_path: Path) -> None:
    write_file(tmp_path, "one", *GATED)
    assert _session(tmp_path, "approve", "one", "g1") == 0
    assert _session(tmp_path, "deny", "one", "g1") == 0
    payload = _last(tmp_path)
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
    assert _session(tmp_path, "approve", "one", "g1", "--always") == 1
    assert "cannot be recorded before the call has run" in capsys.readouterr().err
    assert len(_records(tmp_path)) == len(GATED) + 1


def test_a_call_that_may_have_run_is_not_approved_unseen_and_denied_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", GATED[0], claim(), terminal("suspended"))
    assert _session(tmp_path, "approve", "one", "g1") == 1
    assert "call g1 is in doubt, for it may have run already" in capsys.readouterr().err
    assert _session(tmp_path, "pending", "--json") == 0
    calls = cast("list[dict[str, object]]", json.loads(capsys.readouterr().out)["calls"])
    assert [call.get("in_doubt") for call in calls] == [True, None]
    assert _session(tmp_path, "deny", "one", "g1") == 0
    expected = ToolResultBlock("g1", IN_DOUBT_REASON, is_error=True)
    assert _last(tmp_path) == ToolResult(tool_use_id="g1", result=expected)


@pytest.mark.parametrize("verb", ["approve", "deny"])
@pytest.mark.parametrize(
    ("payloads", "call", "named"),
    [
        (QUESTIONS, ["q1"], "has begun and waits for its answer"),
        ((_batch(CONFIRM), terminal("suspended")), ["q1"], "call q1 is still to be asked"),
        (QUESTIONS, ["q4"], f"call q4 is {NOT_A_PERSONS}"),
        ((*GATED, claim()), ["g2"], "does not wait on call g2"),
        ((assistant(say="x"), terminal()), [], "waits on nothing: it is completed"),
        ((*GATED, result("g1"), claim()), ["g1"], "was answered at"),
        (GATED, ["g1", "--nats-context", "x"], "not built yet"),
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
    assert _session(tmp_path, verb, "one", *call) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert named in printed.err
    assert len(_records(tmp_path)) == len(payloads) + 1


def test_a_question_that_was_not_put_off_is_asked_by_the_next_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", _batch(CONFIRM), terminal("suspended"))
    assert _session(tmp_path, "answer", "one", "--confirm", "yes") == 1
    assert "resume the session at a terminal, which asks it" in capsys.readouterr().err
    write_file(tmp_path, "two", *GATED)
    assert _session(tmp_path, "answer", "two", "g1", "--confirm", "yes") == 1
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
    assert _session(tmp_path, *words) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f'session "{words[1]}" is running in another process' in printed.err
    assert f"(pid {os.getpid()}); answer it there, or decide once it has stopped" in printed.err
    for holder in holders:
        asyncio.run(holder.close())
    assert len(_records(tmp_path, "one")) == len(QUESTIONS) + 1
    assert len(_records(tmp_path, "two")) == len(GATED) + 1


@pytest.mark.parametrize("verb", ["answer", "approve", "deny"])
def test_an_unknown_session_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    flags = ["--confirm", "yes"] if verb == "answer" else []
    assert _session(tmp_path / "none", verb, "one", *flags) == 1
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
    resume, needed = capsys.readouterr().err.splitlines()[-2:]
    assert resume == f"resume with: fisk-ai run --resume one --config '{config}' --script FILE"
    assert needed.startswith("FILE is the script that played its model; without a root_directory ")


@pytest.mark.parametrize("arguments", [b"null", b"[1]", b'{"question":null}'])
def test_a_question_without_words_is_listed_by_what_its_tool_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: bytes
) -> None:
    asked = _batch(ToolUseBlock("q1", hitl.SELECT, arguments))
    write_file(tmp_path, "one", asked, _deferred("q1", hitl.SELECT, "the note"), claim())
    assert _session(tmp_path, "pending") == 0
    assert "│ the note │" in capsys.readouterr().out
    assert _session(tmp_path, "answer", "one", "--select", "x") == 1
    assert "takes the text of an option" in capsys.readouterr().err


def test_a_damaged_session_is_named_by_every_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_file(tmp_path, "one", user("x"))
    path.write_bytes(b"\n".join([*path.read_bytes().splitlines()[:1]] * 2) + b"\n")
    for words in (["stats"], ["query"], ["approve"], ["deny"], ["answer", "--input", "x"]):
        assert _session(tmp_path, words[0], "one", *words[1:]) == 1
        assert "fisk-ai: error: session one: record 1 stands behind" in capsys.readouterr().err
    assert _session(tmp_path, "pending") == 0
    assert "1 session is left out" in capsys.readouterr().err


@pytest.mark.parametrize("reason", ["budget", "max_iterations", "error"])
def test_a_run_that_ended_by_a_bound_or_a_failure_waits_for_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    write_file(tmp_path, "one", GATED[0], Terminal(reason=cast("Reason", reason)))
    assert _session(tmp_path, "pending") == 0
    assert capsys.readouterr().out == "Nothing waits for an answer\n"
    assert _session(tmp_path, "approve", "one", "g1") == 1
    assert f"does not wait on call g1: it is {reason}" in capsys.readouterr().err


def test_a_parked_question_is_shown_with_what_answers_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *QUESTIONS)
    assert _session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    start = f"decide with: fisk-ai session answer one {{}} --state-dir {tmp_path} --"
    for line in (
        "q1 (confirm): Really red?",
        start.format("q1") + "confirm yes|no",
        "q2 (select): Which?",
        "option: red",
        "option: blue red",
        start.format("q2") + "select OPTION",
        start.format("q3") + "input TEXT",
        "q4 -> deploy: job red 7",
        NOT_A_PERSONS,
    ):
        assert line in lines


def test_a_call_that_waits_for_a_decision_is_shown_with_what_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert _session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert f"decide with: fisk-ai session approve one g1 --state-dir {tmp_path}, or deny" in out


def test_a_session_whose_calls_are_all_decided_shows_the_decisions_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *GATED)
    assert _session(tmp_path, "approve", "one", "g1") == 0
    assert _session(tmp_path, "show", "one") == 0
    assert "resume with" not in capsys.readouterr().out
    assert _session(tmp_path, "deny", "one", "g2") == 0
    capsys.readouterr()
    assert _session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    decided = lines[lines.index("Decided:") :]
    assert 'g1 (approve): rm(n:1.0, path:"/x"): approved' in decided
    assert any(line.startswith('g2: {"allowed":false') for line in decided)
    assert any(line.startswith("resume with: fisk-ai run --resume one ") for line in decided)
    assert "Waiting on:" not in lines


def test_an_answered_question_is_shown_until_a_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", _batch(INPUT), _deferred("q3", hitl.INPUT), terminal("suspended"))
    assert _session(tmp_path, "answer", "one", "--input", "-x") == 0
    assert _session(tmp_path, "show", "one") == 0
    assert 'q3: {"value":"-x"}' in capsys.readouterr().out
    write_file(tmp_path, "two", *GATED[:1], result("g1"), result("g2"), terminal(), claim())
    assert _session(tmp_path, "show", "two") == 0
    assert "Decided" not in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["approve"], ["deny"], ["answer", "--confirm", "yes"]])
def test_a_second_decision_without_a_name_is_told_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    only = _batch(ToolUseBlock("g1", "rm", REMOVE))
    write_file(tmp_path, "one", only, terminal("suspended"))
    assert _session(tmp_path, "deny", "one") == 0
    capsys.readouterr()
    assert _session(tmp_path, verb[0], "one", *verb[1:]) == 1
    said = capsys.readouterr().err
    assert "waits on nothing: call g1 was answered at " in said
    assert "from outside the run" in said


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_listing_of_what_waits_is_no_wider_than_the_terminal(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setattr("fisk_ai.cli.session_pending.terminal_width", lambda: width)
    monkeypatch.setattr("fisk_ai.cli.session_stats.terminal_width", lambda: width)
    write_file(tmp_path, "one", *QUESTIONS)
    write_file(tmp_path, "two", *GATED)
    assert _session(tmp_path, "pending") == 0
    assert _session(tmp_path, "stats", "one") == 0
    assert all(len(line) <= width for line in capsys.readouterr().out.splitlines())


BATCH: tuple[Payload, ...] = (
    _batch(CONFIRM, _ask("q2", hitl.CONFIRM, question="Sure?"), ToolUseBlock("g1", "rm", REMOVE)),
    _deferred("q1", hitl.CONFIRM),
    terminal("suspended"),
)
"""A run whose terminal went away at its first question of two; a gated call stands behind."""


def test_whoever_decides_is_told_all_that_still_waits_and_what_decides_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *BATCH)
    assert _session(tmp_path, "answer", "one", "--confirm", "yes") == 0
    decides = f"decide with: fisk-ai session approve one g1 --state-dir {tmp_path}"
    assert capsys.readouterr().err.splitlines()[:-2] == [
        "still waiting: q2 (confirm, unasked) Sure?",
        f"  {UNASKED}",
        'still waiting: g1 (approve) rm(n:1.0, path:"/x")',
        f"  {decides}, or deny in place of approve",
    ]
    assert _session(tmp_path, "approve", "one") == 0
    err = capsys.readouterr().err
    assert "still waiting: q2" in err
    assert "still waiting: g1" not in err


def test_a_question_that_is_still_to_be_asked_does_not_look_answerable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *BATCH)
    assert _session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert "│ confirm, unasked │" in printed.out
    assert "an unasked question is still to be asked: resume the session" in printed.err
    assert _session(tmp_path, "pending", "--json") == 0
    printed = capsys.readouterr()
    calls = cast("list[dict[str, object]]", json.loads(printed.out)["calls"])
    unasked = {call["tool_use_id"]: call.get("unasked") for call in calls}
    assert unasked == {"q1": None, "q2": True, "g1": None}
    assert printed.err == ""
    assert _session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert "still to be asked" in out
    assert "session answer one q2" not in out
    assert f"resume with: fisk-ai run --resume one --state-dir {tmp_path} --script FILE" in out
    assert _session(tmp_path, "answer", "one", "q2", "--confirm", "yes") == 1
    assert "call q2 is still to be asked" in capsys.readouterr().err


KILLED: tuple[Payload, ...] = (_batch(ToolUseBlock("g1", "rm", REMOVE), _ask("g2", "say")),)


def test_a_call_that_a_process_died_in_is_named_with_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED)
    assert _session(tmp_path, "show", "one") == 0
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
    assert _session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert "│ in doubt │" in printed.out
    assert "a call marked so is in doubt, for it may have run already" in printed.err
    for words in (["approve"], ["approve", "g1"], ["deny"], ["answer", "--confirm", "yes"]):
        assert _session(tmp_path, words[0], "one", *words[1:]) == 1
        assert "call g1 is in doubt" in capsys.readouterr().err
    assert len(_records(tmp_path)) == len(KILLED) + 1


def test_a_call_in_doubt_that_a_run_parked_at_is_refused_and_leaves_no_other_in_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED, claim(), terminal("suspended"))
    assert _session(tmp_path, "show", "one") == 0
    out = capsys.readouterr().out
    assert f"refuse it with: fisk-ai session deny one g1 --state-dir {tmp_path}" in out
    assert _session(tmp_path, "deny", "one", "g1") == 0
    err = capsys.readouterr().err
    assert "the agent is told that its outcome is unknown" in err
    assert "still waiting: g2 (approve) say()\n  decide with: " in err


def test_an_approval_from_before_a_doubt_hides_no_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    approval = CallApproval(tool_use_id="g1", tool_name="rm")
    write_file(tmp_path, "one", *GATED, approval, claim())
    assert _session(tmp_path, "pending", "--json") == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    assert (call["tool_use_id"], call["in_doubt"]) == ("g1", True)


def test_a_session_that_a_process_runs_is_said_to_run_and_never_in_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", *KILLED)
    holder = asyncio.run(FileStore(tmp_path).open("one"))
    told = f"in another process (pid {os.getpid()}): what it asks is answered there"
    assert _session(tmp_path, "pending") == 0
    printed = capsys.readouterr()
    assert printed.out == "Nothing waits for an answer\n"
    assert printed.err == f"session one runs {told}\n"
    assert _session(tmp_path, "show", "one") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"Running: {told}" in lines
    assert "Pending: a tool batch is under way" in lines
    for words in (["approve"], ["deny"], ["answer", "--confirm", "yes"]):
        assert _session(tmp_path, words[0], "one", *words[1:]) == 1
        assert 'session "one" is running in another process (pid ' in capsys.readouterr().err
    asyncio.run(holder.close())
    assert len(_records(tmp_path)) == len(KILLED) + 1


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
