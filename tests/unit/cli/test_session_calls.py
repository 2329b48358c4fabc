"""``fisk-ai session stats`` and ``query`` look into one session."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.cli.main import main
from fisk_ai.cli.session_calls import calls_of
from fisk_ai.cli.session_json import machine_text
from fisk_ai.cli.times import local_time
from fisk_ai.llm.model import Message, ToolResultBlock, ToolUseBlock
from fisk_ai.sessions.records import Assistant, Claim, Deferred, Payload, ToolResult
from fisk_ai.testing.session_records import (
    TIME,
    assistant,
    claim,
    journal,
    meta,
    result,
    terminal,
    user,
    write_file,
)
from fisk_ai.text import clock

SAYS = "\x1b[31mred\u202e"


def _reply(*uses: ToolUseBlock, iteration: int) -> Assistant:
    return Assistant(
        iteration=iteration,
        message=Message("assistant", uses),
        stop_reason="tool_use",
        in_tokens=12_000,
        out_tokens=20,
        cache_read_tokens=3,
        cache_create_tokens=4,
        thinking_tokens=5,
    )


SESSION: tuple[Payload, ...] = (
    _reply(
        ToolUseBlock("a", "say", b'{"n":1.0,"message":"Moo"}'),
        ToolUseBlock("b", "say", b'{"message":"<Baa>"}'),
        ToolUseBlock("c", "ask", b"{}"),
        iteration=0,
    ),
    result("a", '{"exit_code":0}'),
    ToolResult(
        tool_use_id="b", result=ToolResultBlock("b", f"no {SAYS}", is_error=True), kind="mcp"
    ),
    Deferred(tool_use_id="c", tool_name="ask", note=f"which {SAYS}?", handle="h1"),
    terminal("suspended"),
    claim(),
    ToolResult(tool_use_id="c", result=ToolResultBlock("c", "later")),
    _reply(ToolUseBlock("d", "say", b"{}"), iteration=1),
    terminal("error"),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_file(tmp_path, "one", *SESSION, opening=replace(meta("moo"), agent="cow", caller="me"))
    return tmp_path


def _run(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["session", words[0], "--state-dir", str(store), *words[1:]]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    return out


def _json(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(_run(store, capsys, *words, "--json")))


def test_a_call_is_timed_to_the_record_that_ends_it() -> None:
    calls = calls_of(journal(*SESSION))
    assert [call.duration_ns for call in calls] == [0, 0, 0, None]
    timed = [
        replace(record, time=clock.rfc3339(clock.rfc3339_ns(TIME) + record.seq**2 * 10**9))
        for record in journal(*SESSION)
    ]
    # A result stands seven records and an evening behind its deferral: the deferral counts.
    assert [call.duration_ns for call in calls_of(timed)] == [5 * 10**9, 7 * 10**9, 9 * 10**9, None]


def test_a_clock_that_was_set_back_gives_no_time() -> None:
    records = journal(assistant("a"), result("a"))
    earlier = replace(records[2], time="2026-07-24T09:15:01Z")
    assert calls_of([*records[:2], earlier])[0].duration_ns is None
    assert calls_of([replace(record, time="") for record in records])[0].duration_ns is None


def test_stats_count_replies_and_calls(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _run(store, capsys, "stats", "one")
    head, responses, tools = out.split("\n\n", 2)[1], *out.split("╭")[1:]
    assert [line.strip() for line in head.splitlines()] == [
        "Agent: cow",
        "Caller: me",
        "Model: small",
        "Status: error",
        f"Created: {local_time(TIME)}",
        f"Ended: {local_time('2026-07-24T09:15:11.5Z')}",
        "Iterations: 2 (at most 20 per turn)",
        "Wall clock: 9s",
        "Tokens: 24054 of 1000 budget (24000 in / 40 out / 6 cache read / 8 cache write)",
    ]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in responses.splitlines()]
    assert ["0", "12,000", "20", "3", "4", "5", "12,027"] in rows
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in tools.splitlines()]
    assert ["say", "application, mcp", "3", "1", "1", "1", "1", "2.00s (2 of 3 calls)"] in rows
    assert ["ask", "unknown", "1", "1", "0", "0", "0", "1.00s"] in rows
    assert out.endswith("Unanswered: 1 (no result yet)\n")


def test_stats_of_an_old_journal_say_what_was_never_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_file(tmp_path, "one", assistant("a"), result("a"), step_s=-1)
    out = _run(tmp_path, capsys, "stats", "one")
    assert "Wall clock" not in out
    assert "Ended" not in out
    assert " - " in out.splitlines()[-4]
    assert out.endswith("Untimed: 1 (no times around the call)\n")
    stats = _json(tmp_path, capsys, "stats", "one")
    for absent in ("agent", "caller", "updated", "ended", "terminal"):
        assert absent not in stats
    assert stats["responses"] == [
        {
            "iteration": 0,
            "tokens": {
                "in_tokens": 10,
                "out_tokens": 10,
                "cache_read_tokens": 0,
                "cache_create_tokens": 0,
                "thinking_tokens": 0,
            },
        }
    ]


def test_stats_are_there_for_other_programs(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stats = _json(store, capsys, "stats", "one")
    assert list(stats) == [
        "run_id",
        "agent",
        "caller",
        "model",
        "created",
        "updated",
        "terminal",
        "ended",
        "iterations",
        "max_iterations",
        "max_tokens",
        "tokens",
        "responses",
        "tools",
    ]
    assert (stats["terminal"], stats["ended"]) == ("error", "2026-07-24T09:15:11.5Z")
    assert stats["tools"] == [
        {
            "tool": "say",
            "kinds": ["application", "mcp"],
            "calls": 3,
            "dispatched": 1,
            "undispatched": 1,
            "unanswered": 1,
            "errors": 1,
            "duration_ns": 2_000_000_000,
            "timed": 2,
            "untimed": 0,
        },
        {
            "tool": "ask",
            "kinds": ["unknown"],
            "calls": 1,
            "dispatched": 1,
            "undispatched": 0,
            "unanswered": 0,
            "errors": 0,
            "duration_ns": 1_000_000_000,
            "timed": 1,
            "untimed": 0,
        },
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], "abcd"),
        (["--tool", "ask"], "c"),
        (["--tool", "ask", "--tool", "say"], "abcd"),
        (["--iteration", "1"], "d"),
        (["--iteration", "0", "--tool", "say"], "ab"),
        (["--errors"], "b"),
        (["--input-match", r'"n":1\.0'], "a"),
        (["--input-match", "^{}$"], "cd"),
        (["--output-match", "exit|later"], "ac"),
        (["--output-match", "^"], "abc"),
    ],
)
def test_filters_of_a_query_are_combined(
    store: Path, capsys: pytest.CaptureFixture[str], filters: list[str], found: str
) -> None:
    calls = cast("list[dict[str, str]]", _json(store, capsys, "query", "one", *filters)["calls"])
    assert "".join(call["tool_use_id"] for call in calls) == found


def test_a_query_shows_each_call_with_what_was_asked_and_answered(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(store, capsys, "query", "one", "--tool", "ask").splitlines() == [
        "Call 1:",
        "",
        "       Tool: ask",
        "    Call ID: c",
        "  Iteration: 0",
        "     Status: answered",
        "   Deferred: yes: which red? (h1)",
        "",
        "  Input:",
        "",
        "    {}",
        "",
        "  Answer:",
        "",
        "    later",
    ]
    out = _run(store, capsys, "query", "one", "--tool", "say")
    assert '\n    {\n      "n": 1.0,\n      "message": "Moo"\n    }\n' in out
    assert "Status: error" in out
    assert "Status: no answer yet" in out


def test_a_query_leaves_out_what_is_not_wanted(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Answer:" not in _run(store, capsys, "query", "one", "--calls-only")
    assert "Input:" not in _run(store, capsys, "query", "one", "--results-only")
    for flag, absent in (("--calls-only", "answer"), ("--results-only", "input")):
        calls = cast("list[dict[str, object]]", _json(store, capsys, "query", "one", flag)["calls"])
        assert not any(absent in call for call in calls)


def test_a_query_is_there_for_other_programs_with_arguments_as_they_were_journaled(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _run(store, capsys, "query", "one", "--iteration", "0", "--json")
    assert out.isascii()
    assert '"input":{"n":1.0,"message":"Moo"}' in out
    calls = cast("list[dict[str, object]]", json.loads(out)["calls"])
    assert calls[1] == {
        "iteration": 0,
        "tool_use_id": "b",
        "tool": "say",
        "input": {"message": "<Baa>"},
        "time": "2026-07-24T09:15:03.5Z",
        "answer": {"tool_use_id": "b", "content": f"no {SAYS}", "is_error": True},
        "answer_time": "2026-07-24T09:15:05.5Z",
    }
    assert calls[2]["deferred"] is True


def test_a_query_without_a_match_says_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(store, capsys, "query", "one", "--tool", "none") == "No matching calls\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["query", "one", "--calls-only", "--results-only"], "exclude each other"),
        (["query", "one", "--input-match", "("], "--input-match is no regular expression"),
        (["query", "one", "--output-match", r"(?=x)"], "--output-match is no regular expression"),
        (["query", "one", "--iteration", "-1"], "--iteration"),
        (["query", "one", "--iteration", "x"], "--iteration takes a whole number from 0"),
        (["query", "none"], "there is no session by that id and no conversation by that token"),
        (["stats", "../one"], "cannot name a session"),
        (["search", "--status", "tired"], "--status is one of open completed"),
        (["search", "--since", "soon"], "--since takes a duration"),
        (["search", "--since=-1h"], "--since takes a duration"),
        (["search", "--match", "["], "--match is no regular expression"),
        (["search", "--limit", "0"], "--limit takes a whole number from 1"),
        (["ls", "--offset", "x"], "--offset takes a whole number from 0"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(
    store: Path, words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["session", words[0], "--state-dir", str(store), *words[1:]]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert named in printed.err


def test_json_for_other_programs_is_ascii_and_says_the_same() -> None:
    value = {"text": "é\U0001f600\u2028\x7f\x9b\u202e\x00"}
    text = machine_text(value)
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == value


def test_whoever_answered_a_call_first_counts() -> None:
    again = replace(result("a", "second"), kind="mcp")
    (call,) = calls_of(journal(assistant("a"), result("a", "first"), again))
    assert call.answer == result("a", "first")


def test_a_result_behind_a_new_prompt_belongs_to_no_call() -> None:
    records = journal(assistant("a"), user("x"), assistant(say="y"), Claim(by="b", claimed=TIME))
    assert [call.answer for call in calls_of(records)] == [None]
