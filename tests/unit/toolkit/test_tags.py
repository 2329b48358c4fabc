"""What tags mean, together and alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from fisk_ai.toolkit import tags
from fisk_ai.toolkit.contract import Behavior

RO, DE, AD, ID = "ai:read_only", "ai:destructive", "ai:additive", "ai:idempotent"


@pytest.mark.parametrize(
    ("own", "behavior", "conflicts"),
    [
        ((), Behavior(), ()),
        (("impact:rw",), Behavior(), ()),
        ((RO,), Behavior(read_only=True), ()),
        ((DE,), Behavior(read_only=False, destructive=True), ()),
        ((AD,), Behavior(read_only=False, destructive=False), ()),
        ((ID,), Behavior(idempotent=True), ()),
        ((RO, ID), Behavior(read_only=True, idempotent=True), ()),
        ((RO, DE), Behavior(read_only=False, destructive=True), (RO, DE)),
        ((RO, AD), Behavior(read_only=False, destructive=False), (RO, AD)),
        ((DE, AD), Behavior(read_only=False, destructive=True), (DE, AD)),
        ((RO, DE, AD), Behavior(read_only=False, destructive=True), (RO, DE, DE, AD)),
    ],
)
def test_behaviour_takes_the_dangerous_reading_in_any_order(
    own: Sequence[str], behavior: Behavior, conflicts: tuple[str, ...]
) -> None:
    for order in itertools.permutations(own):
        assert tags.behavior_of(order) == behavior
        assert tags.conflicts_of(order) == conflicts


def test_unknown_reserved_tags_are_reported_once_in_author_order() -> None:
    own = ("ai:zeta", RO, "ai:alpha", "ai:zeta", "free", "AI:deny", "ai:")
    assert tags.unknown_reserved(own) == ("ai:zeta", "ai:alpha", "ai:")


@pytest.mark.parametrize(
    ("own", "extra", "trigger"),
    [
        ((), ("a",), ""),
        (("ai:confirm",), (), "ai:confirm"),
        (("b", "ai:confirm"), ("b",), "ai:confirm"),
        (("b", "a"), ("a", "b"), "b"),
        (("ai:destructive",), ("ai:destructive",), "ai:destructive"),
        (("a",), (), ""),
    ],
)
def test_the_trigger_is_the_reserved_tag_or_the_first_of_the_tools_own(
    own: Sequence[str], extra: Sequence[str], trigger: str
) -> None:
    assert tags.confirm_trigger(own, extra) == trigger
