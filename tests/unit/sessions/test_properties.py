from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import AlreadyAnsweredError, NotDeferredError
from fisk_ai.llm.model import (
    Block,
    Message,
    ProviderBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from fisk_ai.llm.usage import sound_count
from fisk_ai.sessions import codec, lines, supply
from fisk_ai.sessions.fold import calls_of, fold, in_doubt
from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    Claim,
    Decision,
    Deferred,
    MemoryRevisions,
    Payload,
    Record,
    Terminal,
    ToolResult,
    User,
)
from fisk_ai.testing.session_records import TIME, meta

text = st.text(max_size=8)
count = st.integers(0, 2**63 - 1)
call_id = st.sampled_from(["a", "b", "c", "d"])
raw = st.sampled_from([b"{}", b'{"z":1.0,"a":[1e3,-0],"a":"\\ud800\\u003c"}', b"null", b'"\\/"'])
block: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, text),
    st.builds(ThinkingBlock, text, st.binary(max_size=4)),
    st.builds(ToolUseBlock, call_id, text, raw),
    st.builds(ProviderBlock, text, raw),
)
reply = st.builds(
    Assistant,
    iteration=st.integers(0, 9),
    message=st.builds(Message, st.just("assistant"), st.lists(block, max_size=4).map(tuple)),
    stop_reason=text,
    in_tokens=count,
    out_tokens=count,
    cache_read_tokens=count,
    cache_create_tokens=count,
    thinking_tokens=count,
)
prompt = st.builds(
    User,
    message=st.builds(
        Message, st.just("user"), st.lists(st.builds(TextBlock, text), max_size=2).map(tuple)
    ),
    request=text,
)
deferred = st.builds(Deferred, tool_use_id=call_id, tool_name=text, note=text, handle=text)
answer = call_id.flatmap(
    lambda call: st.builds(
        ToolResult,
        tool_use_id=st.just(call),
        result=st.builds(ToolResultBlock, st.just(call), text, st.booleans()),
        remote=st.booleans(),
        kind=st.sampled_from(["", "application", "remote", "mcp", "unknown"]),
        dispatched=st.booleans(),
    )
)
anywhere = st.one_of(
    st.builds(Decision, tool=text),
    st.builds(CallApproval, tool_use_id=call_id, tool_name=text, args_sha256=text),
    st.builds(Terminal, reason=st.sampled_from(["completed", "suspended", "error"]), message=text),
    st.builds(Claim, by=text, claimed=st.just(TIME)),
    st.builds(
        MemoryRevisions,
        revisions=st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 2**64 - 1)),
    ),
)


@st.composite
def journals(draw: st.DrawFn) -> list[Record]:
    """Draw a journal in which results and deferrals stand only where a turn is open."""
    payloads: list[Payload] = [meta(draw(text))]
    is_open = False
    for _ in range(draw(st.integers(0, 12))):
        options = [reply, prompt, anywhere, *([answer, deferred] if is_open else [])]
        payload = draw(st.one_of(options))
        is_open = (is_open or isinstance(payload, Assistant)) and not isinstance(payload, User)
        payloads.append(payload)
    return [codec.record_of(seq, p, time=TIME) for seq, p in enumerate(payloads, start=1)]


@given(journals())
def test_records_survive_encoding(records: list[Record]) -> None:
    bodies = [codec.encode(record) for record in records]
    assert [codec.decode(body) for body in bodies] == records
    assert all(b"\n" not in body for body in bodies)


@given(records=journals())
def test_every_record_that_is_written_satisfies_its_published_schema(
    validate: Callable[[bytes], None], records: list[Record]
) -> None:
    for record in records:
        validate(codec.encode(record))


@given(journals())
def test_every_prefix_of_a_journal_folds_and_keeps_the_rules_of_a_conversation(
    records: list[Record],
) -> None:
    for length in range(1, len(records) + 1):
        state = fold(records[:length])
        assert state.last_seq == length
        roles = [message.role for message in state.messages]
        assert ("user", "user") not in pairwise(roles)
        if state.pending is not None:
            calls = calls_of(state.pending.assistant)
            assert not set(calls) <= state.pending.answered
        doubtful = in_doubt(records[:length])
        if doubtful is not None:
            assert state.pending is not None
            assert doubtful in calls_of(state.pending.assistant)
            assert doubtful not in state.pending.answered | state.pending.deferred.keys()


@given(journals(), st.data())
def test_a_file_cut_anywhere_loads_the_records_before_the_cut(
    records: list[Record], data: st.DataObject
) -> None:
    whole = b"".join(codec.encode(record) + b"\n" for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    parsed = lines.parse(whole[:cut], "x.json")
    assert list(parsed.records) == records[: len(parsed.records)]
    kept = whole[: parsed.length_bytes]
    assert kept.count(b"\n") + (not kept.endswith(b"\n") and bool(kept)) == len(parsed.records)
    assert parsed.length_bytes == cut or kept in (b"", kept.rstrip(b"\n") + b"\n")
    again = lines.parse(kept, "x.json")
    assert again.records == parsed.records


@given(journals())
def test_a_fold_loses_and_invents_nothing(records: list[Record]) -> None:
    state = fold(records)
    payloads = [record.payload for record in records]
    pending = (*state.pending.results, state.pending.assistant.message) if state.pending else ()
    blocks = [block for message in state.messages for block in message.content]
    results = [block for block in (*blocks, *pending) if isinstance(block, ToolResultBlock)]
    answers = [payload for payload in payloads if isinstance(payload, ToolResult)]
    assert sorted(map(repr, results)) == sorted(repr(answer.result) for answer in answers)
    replies = [payload for payload in payloads if isinstance(payload, Assistant)]
    told = [message for message in state.messages if message.role == "assistant"]
    told += [state.pending.assistant.message] if state.pending else []
    assert told == [reply.message for reply in replies]
    assert state.counters.llm_calls == len(replies)
    assert state.counters.usage.output == sum(sound_count(reply.out_tokens) for reply in replies)
    assert state.counters.tool_calls == sum(state.counters.by_kind.values()) == len(answers)


@given(journals())
def test_the_status_is_that_of_the_last_terminal_unless_work_followed_it(
    records: list[Record],
) -> None:
    status = "open"
    for record in records:
        if isinstance(record.payload, Terminal):
            status = record.payload.reason
        elif not isinstance(record.payload, Claim | MemoryRevisions):
            status = "open"
    assert fold(records).status == status


@given(journals(), st.sampled_from(["a", "b", "c", "d"]))
def test_an_answer_from_outside_is_refused_or_closes_exactly_its_own_deferral(
    records: list[Record], call: str
) -> None:
    state = fold(records)
    try:
        deferral = supply.check(state, call, "x")
    except (AlreadyAnsweredError, NotDeferredError):
        return
    assert deferral in state.open_deferrals
    answer = ToolResult(tool_use_id=call, result=ToolResultBlock(call, "x"))
    after = fold([*records, codec.record_of(len(records) + 1, answer, time=TIME)])
    # a batch that this completes takes with it a deferral of a call that it never had
    closed = {deferral} if after.pending is not None else {*state.open_deferrals}
    assert {*state.open_deferrals} - {*after.open_deferrals} == closed
    with pytest.raises(AlreadyAnsweredError):
        supply.check(after, call, "y")
