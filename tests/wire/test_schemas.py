"""The published schemas say what the message classes do, and are in the package."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import cast

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai import published
from fisk_ai.a2a import codec, schema
from fisk_ai.a2a import messages as m
from fisk_ai.errors import ProtocolError
from fisk_ai.testing.golden import GOLDEN, SHORT_OF_ID, TIME, raw

DOCUMENTS = schema.documents()
SUFFIXES = sorted(SHORT_OF_ID)


@cache
def validator(suffix: str) -> jsonschema_rs.Draft202012Validator:
    registry = jsonschema_rs.Registry([(each["$id"], each) for each in DOCUMENTS.values()])
    return jsonschema_rs.Draft202012Validator(DOCUMENTS[f"{suffix}.json"], registry=registry)


def is_valid(suffix: str, body: bytes) -> bool:
    return validator(suffix).is_valid(json.loads(body))


def is_taken(body: bytes) -> bool:
    try:
        codec.decode(body)
    except ProtocolError:
        return False
    return True


def test_the_files_are_what_the_message_classes_make() -> None:
    files = {path.name: path.read_text() for path in schema.DIRECTORY.glob("*.json")}
    assert files == {name: published.text_of(document) for name, document in DOCUMENTS.items()}, (
        "run python -m fisk_ai.a2a.schema"
    )


def test_writing_the_files_leaves_no_schema_of_an_id_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "event.gone.json").write_text("{}")
    published.write(tmp_path, DOCUMENTS)
    assert {path.name for path in tmp_path.iterdir()} == set(DOCUMENTS)


def test_every_id_has_a_schema_under_its_own_address() -> None:
    assert set(DOCUMENTS) == {f"{suffix}.json" for suffix in (*SUFFIXES, "common", "event")}
    for name, document in DOCUMENTS.items():
        assert document["$id"] == f"https://choria.io/schemas/{m.NAMESPACE}/{name}"
        jsonschema_rs.meta.validate(document)


@pytest.mark.parametrize(("message", "suffix", "body"), GOLDEN)
def test_every_message_sent_is_one_its_schema_takes(
    message: m.AnyMessage, suffix: str, body: dict[str, object]
) -> None:
    assert is_valid(suffix, codec.encode(message))
    assert is_valid(suffix, raw(suffix, {**body, "novelty": {"a": [1]}}))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_schema_refuses_by_name_what_belongs_to_a_sibling(suffix: str) -> None:
    shape = m.MESSAGES.get(f"{m.NAMESPACE}.{suffix}")
    for field in shape.REFUSES if shape is not None else ():
        for value in (None, "x", 1):
            assert not is_valid(suffix, raw(suffix, {**SHORT_OF_ID[suffix], field: value}))


def test_an_event_of_an_unknown_kind_has_a_schema_for_its_frame() -> None:
    assert is_valid("event", raw("event.novelty", {"block": {"a": 1}}))
    for suffix, block in (("event.", {"a": 1}), ("event.a.b", {"a": 1}), ("event.novelty", 1)):
        assert not is_valid("event", raw(suffix, {"block": block}))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.sampled_from([1.5, -0.5, 1e300]),
    st.text(max_size=8),
    st.sampled_from(["", "no", "once", "approve", "value", "a b", "T\n", "x" * 65, "x" * 4097]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "text", "max_tokens", "kind"]), inner, max_size=3),
    ),
    max_leaves=5,
)


def members(value: object) -> dict[str, object]:
    """Return the members of an object; none of anything else."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


@st.composite
def mutants(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """Draw an id and a body of it with some members removed, replaced or added."""
    suffix = draw(st.sampled_from(SUFFIXES))
    body: dict[str, object] = json.loads(raw(suffix, SHORT_OF_ID[suffix]))
    del body["protocol"]
    target = draw(st.sampled_from([body, *(members(each) for each in body.values())]))
    names = st.sampled_from([*target, "prompt", "answer", "choice", "value", "options", "budget"])
    for name in draw(st.lists(names, min_size=1, max_size=2)):
        if draw(st.booleans()):
            target.pop(name, None)
        else:
            target[name] = draw(VALUES)
    return suffix, body


def beyond_schemas(body: dict[str, object]) -> bool:
    """Say whether only the classes can judge: times, and an answer that fits its kind."""
    times = (body.get("time"), members(body.get("block")).get("time"))
    return "answer" in body or any(isinstance(time, str) and time != TIME for time in times)


@given(mutants())
def test_a_schema_takes_exactly_what_its_class_takes(mutant: tuple[str, dict[str, object]]) -> None:
    suffix, body = mutant
    encoded = raw(suffix, body)
    taken, valid = is_taken(encoded), is_valid(suffix, encoded)
    if taken:
        assert valid
    elif not beyond_schemas(body):
        assert not valid


@pytest.mark.parametrize(
    ("suffix", "change"),
    [
        ("ack", {"max_tokens": 1.0}),
        ("ack", {"time": "2026-03-04"}),
        ("event.text", {"block": {"text": "", "time": "yesterday"}}),
        (
            "request.answer",
            {"answer": {"tool_use_id": "u", "kind": "approve", "answer": "value", "value": "x"}},
        ),
    ],
)
def test_what_a_schema_cannot_say_the_class_refuses(suffix: str, change: dict[str, object]) -> None:
    body = raw(suffix, {**SHORT_OF_ID[suffix], **change})
    assert is_valid(suffix, body)
    assert not is_taken(body)
