"""What a journal of somebody else says is repeated in an error cleaned and cut, or not at all."""

from __future__ import annotations

import json

import pytest

from fisk_ai.errors import StoreError
from fisk_ai.sessions import codec, fingerprint
from fisk_ai.sessions.fold import fold
from fisk_ai.sessions.records import Record
from fisk_ai.testing.session_records import fingerprint as print_of
from fisk_ai.testing.session_records import journal

LONG = "\x1b[31m\u202ex\n" + "y" * 100_000
PREFIX = codec.NAMESPACE
WRONG: tuple[dict[str, object], ...] = (
    {"protocol": LONG},
    {"protocol": PREFIX + LONG},
    {"protocol": PREFIX + "decision", "decision": {LONG: LONG}},
    {"protocol": PREFIX + "tool_result", "tool_result": {"tool_use_id": LONG, "result": {}}},
    {"protocol": PREFIX + "deferred", "deferred": {"tool_use_id": LONG, "tool_name": LONG}},
    {"protocol": PREFIX + "terminal", "terminal": {"reason": LONG}},
    {"protocol": PREFIX + "claim", "claim": {"by": LONG, "claimed": LONG}},
    {"protocol": PREFIX + "user", "user": {"message": {"role": LONG, "content": []}}},
    {"protocol": PREFIX + "user", "user": {"message": {"role": "user", "content": [{LONG: {}}]}}},
    {"protocol": PREFIX + "meta", "meta": {"version": 1}},
    {"protocol": PREFIX + "assistant", "assistant": {"iteration": LONG}},
    {"protocol": PREFIX + "memory_revisions", "memory_revisions": {"revisions": {LONG: LONG}}},
)


def _refusal(start: list[Record], envelope: dict[str, object]) -> str:
    with pytest.raises(StoreError) as refused:
        fold([*start, codec.decode(json.dumps(envelope).encode())])
    return str(refused.value)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong)[:60])
def test_an_error_repeats_no_document_of_a_journal(wrong: dict[str, object]) -> None:
    for start, seq in ((journal(), 2), (list[Record](), 1)):
        said = _refusal(start, {"seq": seq, "time": "2026-07-24T09:15:02Z", **wrong})
        assert len(said) < 400
        assert said.isprintable()


def test_an_unknown_protocol_is_named_as_far_as_it_helps() -> None:
    said = _refusal(journal(), {"seq": 2, "protocol": "rumour" + "y" * 100_000})
    assert said == f'record 2 has the unknown protocol "rumour{"y" * 194}…"'


def test_a_difference_repeats_no_document_either() -> None:
    drift = fingerprint.compare(print_of(model=LONG), print_of(model="small"))
    assert drift.blocking == (f"model: x {'y' * 198}… -> small",)
