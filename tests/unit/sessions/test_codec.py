from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fisk_ai.errors import CorruptError, StoreError, UnwritableError
from fisk_ai.llm.model import Message, TextBlock, ToolUseBlock
from fisk_ai.sessions import codec
from fisk_ai.sessions.records import (
    Assistant,
    CallApproval,
    MemoryRevisions,
    Meta,
    Payload,
    Record,
    Terminal,
    ToolResult,
)
from fisk_ai.testing.session_records import assistant, claim, fingerprint, meta, result, user

NAMESPACE = "io.choria.fisk-ai.v1.session."


def _line(segment: str, payload: object, **envelope: object) -> bytes:
    record = {"seq": 2, "protocol": NAMESPACE + segment, segment: payload}
    return json.dumps(record | envelope).encode()


def test_a_golden_journal_is_encoded_to_its_own_bytes(golden: Path) -> None:
    lines = (golden / "go-current.json").read_bytes().splitlines()
    assert [codec.encode(codec.decode(line)) for line in lines] == lines


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"", "record"),
        (b"[]", "record"),
        (b'"x"', "record"),
        (b"7", "record"),
        (b'{"seq":1', "record"),
        (b'{"seq":1}{}', "record"),
        (_line("decision", {"tool": "x"}, seq=1.0), "seq"),
        (_line("decision", {"tool": "x"}, seq="1"), "seq"),
        (_line("decision", {"tool": "x"}, seq=-1), "seq"),
        (_line("decision", {"tool": "x"}, seq=2**64), "seq"),
        (b'{"seq":1e2}', "seq"),
        (_line("decision", {"tool": "x"}, time="2026-07-24"), "time"),
        (_line("decision", {"tool": "x"}, time=7), "time"),
        (_line("decision", {"tool": "x"}, optional="yes"), "optional"),
        (_line("decision", {"tool": "x"}, protocol=1), "protocol"),
        (_line("decision", {"tool": 1}), "decision.tool"),
        (_line("decision", "x"), "decision"),
        (_line("claim", {"by": "x", "claimed": "now"}), "claim.claimed"),
        (_line("assistant", {"iteration": 2**63}), "assistant.iteration"),
        (_line("user", {"message": {"role": "nobody"}}), "user.message"),
        (
            b'{"protocol":"'
            + NAMESPACE.encode()
            + b'user","user":{"message":{"role":"user","content":[{}]}}}',
            "user.message",
        ),
        (_line("tool_result", {"result": {"content": 1}}), "tool_result.result"),
        (_line("memory_revisions", {"revisions": {"a": -1}}), "memory_revisions.revisions"),
        (_line("meta", {"fingerprint": {"model": 1}}), "meta.fingerprint: model"),
    ],
)
def test_a_line_with_a_wrong_type_is_no_record_and_the_key_is_named(
    line: bytes, named: str
) -> None:
    with pytest.raises(CorruptError, match=named):
        codec.decode(line)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (_line("decision", {}), "tool is missing"),
        (_line("decision", {"tool": None}), "tool is missing"),
        (_line("user", {}), "message is missing"),
        (_line("claim", {"by": "x"}), "claimed is missing"),
        (_line("terminal", {"reason": "bored"}), "reason is not one of"),
        (_line("meta", {"version": 3, "run_id": "x"}), "created is missing"),
        (_line("memory_revisions", {}), "revisions is missing"),
    ],
)
def test_a_missing_key_is_a_fault_and_not_a_torn_line(line: bytes, fault: str) -> None:
    assert codec.decode(line).fault.startswith(fault)


def test_null_reads_as_the_empty_value_of_a_number() -> None:
    line = _line(
        "assistant",
        {"message": {"role": "assistant"}}
        | dict.fromkeys(["iteration", "in_tokens", "out_tokens", "thinking_tokens", "stop_reason"]),
        seq=None,
        time=None,
        optional=None,
    )
    record = codec.decode(line)
    assert (record.seq, record.time, record.optional, record.fault) == (0, "", False, "")
    assert record.payload == Assistant(
        iteration=0, message=Message("assistant", ()), in_tokens=0, out_tokens=0
    )


def test_null_reads_as_zero_inside_revisions_too() -> None:
    payload = codec.decode(_line("memory_revisions", {"revisions": {"a": None}})).payload
    assert payload == MemoryRevisions(revisions={"a": 0})


def test_key_order_white_space_and_unknown_keys_do_not_matter() -> None:
    line = (
        b' \t{ "decision" : {"new":[1], "tool": "a", "tool":"b"}, "extra":{},'
        b'"protocol":"io.choria.fisk-ai.v1.session.decision","seq" :2 } '
    )
    assert codec.decode(line) == replace(codec.decode(_line("decision", {"tool": "b"})))


def test_an_unknown_record_is_read_without_its_payload() -> None:
    record = codec.decode(_line("rumour", {"x": 1}, optional=True))
    assert record == Record(seq=2, protocol=NAMESPACE + "rumour", optional=True, payload=None)
    assert codec.decode(b"null") == Record(seq=0, protocol="", payload=None)
    assert codec.decode(_line("decision", None)).payload is None


def test_a_time_keeps_the_spelling_it_was_read_in() -> None:
    created = "2026-07-24T11:15:02.120000000+02:00"
    record = codec.record_of(1, meta(created=created), time="2026-07-24T09:15:02.10Z")
    again = codec.decode(codec.encode(record))
    assert again == replace(record)
    assert isinstance(again.payload, Meta)
    assert (again.payload.created, again.time) == (created, "2026-07-24T09:15:02.10Z")


def test_foreign_text_never_poisons_a_journal() -> None:
    text = "cut \ud83d \x00\x1b[2J\u2028\u202e\x7f"
    call = ToolUseBlock("t", "say", rb'{"m":"\ud83d\u2028","k":1.0}')
    record = codec.record_of(
        2, replace(assistant(), message=Message("assistant", (TextBlock(text), call)))
    )
    body = codec.encode(record)
    assert b"\n" not in body
    again = codec.decode(body)
    assert codec.encode(again) == body
    assert isinstance(again.payload, Assistant)
    assert again.payload.message.content == (TextBlock(text.replace("\ud83d", "\ufffd")), call)


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    line = _line("decision", {"tool": "ab"}).replace(b"ab", b"a\xff\xfeb")
    assert codec.decode(line).payload == codec.decode(_line("decision", {"tool": "a��b"})).payload


def test_an_unknown_kind_of_tool_is_read_as_unknown() -> None:
    line = _line("tool_result", {"tool_use_id": "t", "result": {}, "kind": "dream"})
    payload = codec.decode(line).payload
    assert isinstance(payload, ToolResult)
    assert payload.kind == "unknown"


def test_a_summary_is_kept() -> None:
    summary: dict[str, object] = {"turns": 2, "counters": {"x": 1}}
    payload = codec.decode(_line("terminal", {"reason": "error", "summary": summary})).payload
    assert payload == Terminal(reason="error", summary=summary)


@pytest.mark.parametrize("summary", ["odd", [1], 7, None])
def test_a_summary_is_a_cache_and_never_in_the_way(summary: object) -> None:
    payload = codec.decode(_line("terminal", {"reason": "error", "summary": summary})).payload
    assert payload == Terminal(reason="error")


@pytest.mark.parametrize(
    ("seq", "payload", "named"),
    [
        (1, user("x"), "meta record is number 1"),
        (2, meta(), "meta record is number 1"),
        (0, user("x"), "number 1"),
        (2, replace(assistant(), out_tokens=2**63), "out_tokens"),
        (2, replace(claim(), claimed=""), "claimed"),
        (2, replace(claim(), claimed="2026-01-01"), "claimed"),
        (1, replace(meta(), fingerprint=replace(fingerprint(), max_tokens=2**70)), "max_tokens"),
        (2, MemoryRevisions(revisions={"": 1}), "0 characters"),
        (2, MemoryRevisions(revisions={"k" * 201: 1}), "201 characters"),
        (2, MemoryRevisions(revisions={"k": 0}), "below 1"),
        (2, MemoryRevisions(revisions={"k": 2**64}), "revisions"),
    ],
)
def test_a_record_that_breaks_its_rules_is_never_encoded(
    seq: int, payload: Payload, named: str
) -> None:
    with pytest.raises(StoreError, match=named):
        codec.encode(codec.record_of(seq, payload))


@pytest.mark.parametrize("raw", [b"{", b"[1,]", b"\xff", b"", b"{}\n{}"])
def test_arguments_that_are_no_json_are_never_encoded(raw: bytes) -> None:
    message = Message("assistant", (ToolUseBlock("t", "say", raw),))
    with pytest.raises(StoreError, match="cannot be written"):
        codec.encode(codec.record_of(2, replace(assistant(), message=message)))


def test_arguments_nested_too_deeply_for_a_later_reader_are_never_encoded() -> None:
    def nested(levels: int) -> Record:
        call = ToolUseBlock("t", "say", b"[" * levels + b"]" * levels)
        return codec.record_of(2, replace(assistant(), message=Message("assistant", (call,))))

    body = codec.encode(nested(300))
    assert codec.decode(body) == nested(300)
    for levels in (400, 100_000):
        with pytest.raises(StoreError, match="nested"):
            codec.encode(nested(levels))
    brackets = replace(user("["), message=Message("user", (TextBlock("[{" * 1000),)))
    assert codec.decode(codec.encode(codec.record_of(2, brackets))).payload == brackets


def test_a_record_needs_its_own_protocol_and_payload() -> None:
    record = codec.record_of(2, result("t"))
    with pytest.raises(StoreError, match="protocol"):
        codec.encode(replace(record, protocol=NAMESPACE + "user"))
    with pytest.raises(StoreError, match="payload"):
        codec.encode(replace(record, payload=None))


@pytest.mark.parametrize(
    ("payload", "segment", "optional"),
    [
        (result("t"), "tool_result", False),
        (CallApproval(tool_use_id="t", tool_name="x"), "call_approval", True),
        (MemoryRevisions(), "memory_revisions", True),
    ],
)
def test_only_records_whose_absence_is_safe_may_be_skipped(
    payload: Payload,
    segment: str,
    optional: bool,  # noqa: FBT001
) -> None:
    record = codec.record_of(2, payload)
    assert codec.protocol_of(payload) == record.protocol == NAMESPACE + segment
    assert record.optional is optional


@pytest.mark.parametrize(
    "count", ["iteration", "in_tokens", "out_tokens", "cache_read_tokens", "thinking_tokens"]
)
def test_a_negative_count_is_never_written(count: str) -> None:
    record = codec.record_of(2, replace(assistant("a"), **{count: -1}))
    with pytest.raises(UnwritableError, match="a count is negative"):
        codec.encode(record)
