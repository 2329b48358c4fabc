"""Hints of what a tool does to the world."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.toolkit.behavior import Behavior

HINTS = st.sampled_from([None, True, False])


@pytest.mark.parametrize(
    ("behavior", "words"),
    [
        (Behavior(), ""),
        (
            Behavior(read_only=True, destructive=True, idempotent=True, open_world=True),
            "read only, destructive, idempotent, open world",
        ),
        (
            Behavior(read_only=False, destructive=False, idempotent=False, open_world=False),
            "not read only, additive, not idempotent, closed world",
        ),
        (Behavior(open_world=False, read_only=True), "read only, closed world"),
    ],
)
def test_what_is_declared_is_said_in_a_fixed_order(behavior: Behavior, words: str) -> None:
    assert behavior.words() == words


def test_only_a_contradiction_is_resolved_and_dangerously() -> None:
    both = Behavior(read_only=True, destructive=True, idempotent=True)
    assert both.resolve() == Behavior(read_only=False, destructive=True, idempotent=True)
    for fine in (Behavior(read_only=True), Behavior(destructive=True), Behavior()):
        assert fine.resolve() == fine


def test_an_unsaid_hint_has_no_key() -> None:
    assert Behavior().to_json() == {}
    written = json.dumps(Behavior(open_world=False, read_only=True, destructive=False).to_json())
    assert written == '{"read_only": true, "destructive": false, "open_world": false}'


@given(st.builds(Behavior, read_only=HINTS, destructive=HINTS, idempotent=HINTS, open_world=HINTS))
def test_hints_survive_json(behavior: Behavior) -> None:
    assert Behavior.from_json(json.loads(json.dumps(behavior.to_json()))) == behavior


def test_null_says_nothing_and_an_unknown_key_is_ignored() -> None:
    assert Behavior.from_json({"read_only": None, "later": 1}) == Behavior()


@pytest.mark.parametrize("value", [1, "true", [], {}])
def test_a_hint_of_another_type_is_named(value: object) -> None:
    with pytest.raises(ValueError, match="idempotent must be true, false or absent"):
        Behavior.from_json({"idempotent": value})
