from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai import published
from fisk_ai.errors import CorruptError
from fisk_ai.sessions import codec, lines, schema
from fisk_ai.sessions.fold import fold

Validate = Callable[[bytes], None]
PREFIX = "io.choria.fisk-ai.v1.session."


def _line(segment: str, body: object, **envelope: object) -> bytes:
    record = {"seq": 2, "protocol": PREFIX + segment, segment: body}
    return json.dumps(record | envelope).encode()


def _protocol(line: bytes) -> str:
    return codec.decode(line).protocol if line.strip() else ""


def test_the_written_schemas_are_those_of_the_tables() -> None:
    written = {path.name: path.read_text() for path in schema.DIRECTORY.iterdir()}
    made = {name: published.text_of(body) for name, body in schema.documents().items()}
    assert written == made, "run python -m fisk_ai.sessions.schema"


def test_every_golden_journal_satisfies_the_published_schemas(
    golden: Path, validate: Validate
) -> None:
    journals = sorted(golden.glob("*.json"))
    assert journals
    for journal in journals:
        whole = journal.read_bytes()
        kept = whole[: lines.parse(whole, journal.name).length_bytes].splitlines()
        known = [line for line in kept if codec.is_known(_protocol(line))]
        assert known
        for line in known:
            validate(line)


def test_a_body_may_hold_keys_of_later_releases_and_an_envelope_may_not(
    validate: Validate,
) -> None:
    validate(_line("decision", {"tool": "x", "until": "later"}))
    for refused in (
        _line("decision", {"tool": "x"}, later=1),
        _line("decision", {"tool": "x"}, claim={"by": "x", "claimed": "2026-07-24T09:15:02Z"}),
    ):
        with pytest.raises(ValueError, match="nevaluated"):
            validate(refused)


@pytest.mark.parametrize(
    "line",
    [
        _line("decision", {}),
        _line("terminal", {"reason": "bored"}),
        _line("tool_result", {"tool_use_id": "a"}),
        _line("deferred", {"tool_use_id": "a"}),
        _line("claim", {"by": "x"}),
        _line("assistant", {"iteration": 0, "message": {"role": "assistant", "content": []}}),
    ],
)
def test_what_a_schema_refuses_the_fold_refuses_too(line: bytes, validate: Validate) -> None:
    with pytest.raises(ValueError, match=r"required|not one of"):
        validate(line)
    opened = codec.decode(
        b'{"seq":1,"protocol":"io.choria.fisk-ai.v1.session.meta","meta":{"version":3,"run_id":"r",'
        b'"created":"2026-07-24T09:15:02Z","fingerprint":{}}}'
    )
    with pytest.raises(CorruptError):
        fold([opened, codec.decode(line)])


def test_a_meta_record_is_number_one_and_a_deferral_is_never_skipped(validate: Validate) -> None:
    meta: dict[str, object] = {
        "version": 3,
        "run_id": "r",
        "created": "2026-07-24T11:15:02.5+02:00",
        "fingerprint": {},
    }
    validate(_line("meta", meta, seq=1))
    for refused in (
        _line("meta", meta, seq=2),
        _line("deferred", {"tool_use_id": "a", "tool_name": "x"}, optional=True),
    ):
        with pytest.raises(ValueError, match="expected"):
            validate(refused)
