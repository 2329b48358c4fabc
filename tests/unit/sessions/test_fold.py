from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.errors import CorruptError, EmptyError, NoMetaError, VersionError
from fisk_ai.llm.model import Message, TextBlock, ToolResultBlock, Usage
from fisk_ai.sessions import codec, lines
from fisk_ai.sessions.fold import answer_of, fold
from fisk_ai.sessions.records import (
    CallApproval,
    Decision,
    Deferred,
    MemoryRevisions,
    Payload,
    Record,
    ToolResult,
)
from fisk_ai.testing.session_records import (
    assistant,
    claim,
    journal,
    meta,
    result,
    terminal,
    user,
)

PROMPT = Message("user", (TextBlock("hello"),))
UNKNOWN = "io.choria.fisk-ai.v1.session.rumour"


def _deferred(call: str) -> Deferred:
    return Deferred(tool_use_id=call, tool_name="say", note=f"note {call}")


def _approval(call: str) -> CallApproval:
    return CallApproval(tool_use_id=call, tool_name="say", args_sha256="ab")


def _results(*calls: str) -> Message:
    return Message("user", tuple(ToolResultBlock(call, "done") for call in calls))


def test_a_new_session_is_its_prompt() -> None:
    state = fold(journal())
    assert state.messages == (PROMPT,)
    assert (state.pending, state.next_iteration, state.last_stop_reason) == (None, 0, "")
    assert (state.status, state.terminal, state.last_seq) == ("open", None, 1)


def test_answered_calls_follow_their_turn_in_the_order_of_the_journal() -> None:
    state = fold(journal(assistant("a", "b"), result("b"), result("a")))
    assert state.messages == (PROMPT, assistant("a", "b").message, _results("b", "a"))
    assert state.pending is None


def test_a_turn_with_open_calls_is_pending_and_stays_out_of_the_messages() -> None:
    reply = assistant("a", "b", "c", iteration=4)
    state = fold(journal(reply, result("b"), _deferred("c")))
    assert state.messages == (PROMPT,)
    assert state.pending is not None
    assert state.pending.assistant == reply
    assert state.pending.results == (ToolResultBlock("b", "done"),)
    assert state.pending.answered == {"b"}
    assert state.pending.deferred == {"c": _deferred("c")}
    assert (state.next_iteration, state.last_stop_reason) == (5, "tool_use")


def test_a_reply_commits_the_turn_before_it_answered_or_not() -> None:
    paused = assistant(say="thinking", stop_reason="pause_turn")
    state = fold(journal(assistant("a"), paused))
    assert state.messages == (PROMPT, assistant("a").message, paused.message)
    assert state.last_stop_reason == "pause_turn"


def test_a_prompt_is_merged_into_a_user_turn_before_it() -> None:
    state = fold(journal(assistant("a"), result("a"), user("one"), user("two"), assistant()))
    merged = (*_results("a").content, TextBlock("one"), TextBlock("two"))
    assert state.messages[2] == Message("user", merged)
    assert [message.role for message in state.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_a_prompt_behind_a_first_prompt_is_merged_too() -> None:
    state = fold(journal(user("more")))
    assert state.messages == (Message("user", (TextBlock("hello"), TextBlock("more"))),)


def test_a_prompt_closes_the_turn_for_good() -> None:
    with pytest.raises(CorruptError, match='record 4 is about call "a"'):
        fold(journal(assistant("a"), user("no"), result("a")))


@pytest.mark.parametrize("payload", [result("a"), _deferred("a")])
def test_a_result_needs_a_turn(payload: Payload) -> None:
    with pytest.raises(CorruptError, match="record 2"):
        fold(journal(payload))


def test_a_turn_stays_open_behind_a_terminal_for_an_answer_from_outside() -> None:
    answer = ToolResult(tool_use_id="a", result=ToolResultBlock("a", "yes"))
    parked = journal(assistant("a"), _deferred("a"), terminal("suspended"))
    assert fold(parked).open_deferrals == (_deferred("a"),)
    state = fold(journal(assistant("a"), _deferred("a"), terminal("suspended"), answer))
    assert (state.pending, state.open_deferrals, state.status) == (None, (), "open")
    assert state.messages[-1] == Message("user", (ToolResultBlock("a", "yes"),))


def test_open_deferrals_are_sorted_and_answered_ones_leave() -> None:
    reply = assistant("z", "y", "x", "w")
    records = journal(reply, _deferred("z"), _deferred("x"), _deferred("y"), result("y"))
    assert [d.tool_use_id for d in fold(records).open_deferrals] == ["x", "z"]
    pending = fold(records).pending
    assert pending is not None
    assert set(pending.deferred) == {"x", "y", "z"}


def test_a_foreign_or_second_result_counts_as_any_other() -> None:
    state = fold(journal(assistant("a"), result("other"), result("a"), result("a")))
    assert state.messages[-1] == _results("other", "a", "a")
    assert state.counters.tool_calls == 3


def test_grants_and_scope_follow_the_journal() -> None:
    state = fold(
        journal(
            assistant("a", "b"),
            Decision(tool="rm"),
            result("a"),
            Decision(tool="rm"),
            Decision(tool="cp"),
            _approval("b"),
            MemoryRevisions(revisions={"k": 1, "old": 1}),
            MemoryRevisions(revisions={"k": 2}),
        )
    )
    assert state.standing_grants == ("rm", "rm", "cp")
    assert state.one_shot_approvals == {"b": _approval("b")}
    assert state.scope_seed == {"k": 2}
    assert state.pending is not None


def test_a_terminal_spends_approvals_of_one_call_only() -> None:
    state = fold(journal(assistant("a"), Decision(tool="rm"), _approval("a"), terminal("error")))
    assert (state.one_shot_approvals, state.standing_grants) == ({}, ("rm",))


@pytest.mark.parametrize("inert", [claim(), Decision(tool="x"), _approval("a")])
def test_what_lands_inside_a_batch_leaves_the_batch_alone(inert: Payload) -> None:
    state = fold(journal(assistant("a", "b"), inert, result("a"), inert, result("b")))
    assert state.messages == (PROMPT, assistant("a", "b").message, _results("a", "b"))


@pytest.mark.parametrize(
    ("payloads", "status"),
    [
        ((), "open"),
        ((terminal(),), "completed"),
        ((terminal("budget"), claim()), "budget"),
        ((terminal("suspended"), MemoryRevisions(revisions={"a": 1})), "suspended"),
        ((MemoryRevisions(revisions={"a": 1}), terminal("suspended")), "suspended"),
        ((terminal(), claim(), user("more")), "open"),
        ((terminal(), Decision(tool="x")), "open"),
        ((terminal(), assistant()), "open"),
        ((terminal(), user("more"), terminal("error")), "error"),
    ],
)
def test_a_record_of_work_reopens_a_finished_run(
    payloads: tuple[Payload, ...], status: str
) -> None:
    assert fold(journal(*payloads)).status == status


def test_failed_attempts_count_the_runs_that_failed_at_this_position() -> None:
    def failed(*payloads: Payload) -> int:
        return fold(journal(*payloads)).failed_attempts

    error = terminal("error")
    assert failed() == 0
    assert failed(error, claim(), error) == 2
    assert failed(assistant("a"), result("a"), error, claim(), terminal("suspended")) == 1
    assert failed(error, claim(), assistant()) == 0
    assert failed(error, claim(), user("again")) == 0


def test_counters_tell_kinds_and_dispatch_apart() -> None:
    denied = replace(result("d", kind="mcp"), dispatched=False)
    old_remote = ToolResult(tool_use_id="e", result=ToolResultBlock("e", ""), remote=True)
    old = ToolResult(tool_use_id="f", result=ToolResultBlock("f", ""))
    state = fold(
        journal(
            replace(assistant(*"abcdef"), cache_read_tokens=1, thinking_tokens=2),
            result("a"),
            result("b", kind="remote"),
            result("c", kind="mcp"),
            denied,
            old_remote,
            old,
            replace(assistant(tokens=5), cache_create_tokens=4),
        )
    )
    counters = state.counters
    assert (counters.llm_calls, counters.tool_calls) == (2, 6)
    assert (counters.remote_tool_calls, counters.mcp_tool_calls) == (2, 1)
    assert counters.by_kind == {"application": 1, "remote": 2, "mcp": 2, "unknown": 1}
    assert counters.usage == Usage(15, 15, 1, 4, 2)


def test_requests_are_those_of_meta_and_follow_ups() -> None:
    records = journal(user("x", request="r2"), user("y"))
    records[0] = codec.record_of(1, meta(request="r1"))
    assert fold(records).requests == {"r1", "r2"}


def _record(seq: int, protocol: str, *, optional: bool = False) -> Record:
    return Record(seq=seq, protocol=protocol, optional=optional, payload=None)


def test_an_unknown_record_is_skipped_only_when_it_may_be() -> None:
    skipped = [*journal(terminal()), _record(3, UNKNOWN, optional=True)]
    assert (fold(skipped).status, fold(skipped).last_seq) == ("completed", 3)
    with pytest.raises(CorruptError, match=f"record 3 .*{UNKNOWN}"):
        fold([*journal(terminal()), _record(3, UNKNOWN)])


def test_a_known_record_without_its_payload_is_damage() -> None:
    protocol = codec.protocol_of(claim())
    with pytest.raises(CorruptError, match=r"record 3 .*no payload"):
        fold([*journal(terminal()), _record(3, protocol, optional=True)])


def test_a_missing_key_names_record_and_key() -> None:
    faulty = replace(journal(claim())[1], fault="by is missing")
    with pytest.raises(CorruptError, match=r"record 2 .*claim.*by is missing"):
        fold([journal()[0], faulty])


def test_numbers_must_rise_and_may_skip() -> None:
    first, second = journal(user("x"))
    assert fold([replace(first, seq=7), replace(second, seq=9)]).last_seq == 9
    for seq in (6, 7):
        with pytest.raises(CorruptError, match=f"record {seq}"):
            fold([replace(first, seq=7), replace(second, seq=seq)])


def test_a_journal_begins_with_one_meta_record_of_our_version() -> None:
    with pytest.raises(EmptyError):
        fold([])
    with pytest.raises(NoMetaError):
        fold(journal(user("x"))[1:])
    with pytest.raises(NoMetaError):
        fold([replace(journal()[0], payload=None)])
    with pytest.raises(CorruptError, match="second time"):
        fold([*journal(), replace(journal()[0], seq=2)])
    for version in (2, 4):
        old = replace(journal()[0], payload=replace(meta(), version=version), fault="x is missing")
        with pytest.raises(VersionError, match=f"version {version}, supported 3"):
            fold([old])


def test_the_answer_is_the_prose_of_the_last_turn_that_had_any() -> None:
    state = fold(journal(assistant(say="first"), user("x"), assistant("a", say="second")))
    assert answer_of(state.messages) == "first"
    state = fold(journal(assistant("a", say="said"), result("a"), assistant(), terminal()))
    assert answer_of(state.messages) == "said"
    assert answer_of(fold(journal()).messages) == ""


def test_a_journal_of_the_other_implementation_folds(golden: Path) -> None:
    state = fold(lines.parse((golden / "go-current.json").read_bytes(), "golden").records)
    assert state.meta.created == "2026-07-24T11:15:02.5+02:00"
    assert state.meta.prompt == "list <all> streams & stop"
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert state.messages[2].content[2] == TextBlock("thanks 😀")
    assert (state.status, state.next_iteration, state.last_seq) == ("open", 1, 11)
    assert state.counters.usage == Usage(10, 20, 3, 4, 5)
    assert state.scope_seed == {"a": 1, "b": 2**64 - 1}
    assert state.standing_grants == ("stream_rm",)


def test_an_early_journal_with_a_torn_end_folds(golden: Path) -> None:
    state = fold(lines.parse((golden / "go-early.json").read_bytes(), "golden").records)
    assert state.meta.prompt == "page\fbreak \b"
    assert (state.status, state.last_seq, state.next_iteration) == ("completed", 10, 3)
    assert state.counters.by_kind == {"remote": 1, "unknown": 1}
    assert state.counters.remote_tool_calls == 1
    assert state.messages[1].content == ()
    assert answer_of(state.messages) == "bye"


def test_an_older_journal_with_impossible_counts_reads_and_lowers_no_sum() -> None:
    records = journal(
        replace(assistant("a", iteration=0), in_tokens=5, out_tokens=2),
        result("a"),
        replace(assistant("b", iteration=1), in_tokens=-1000, out_tokens=-7, cache_read_tokens=-3),
    )
    assert fold(records).counters.usage == Usage(input=5, output=2)
