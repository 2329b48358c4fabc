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
    own = ("ai:zeta", RO, "ai:alpha", "ai:zeta", "free", "AI:other", "ai:")
    assert tags.unknown_reserved(own) == ("ai:zeta", "ai:alpha", "ai:")


@pytest.mark.parametrize(
    ("tag", "told"),
    [
        ("AI:CONFIRM", "AI:CONFIRM"),
        ("Ai:Deny", "Ai:Deny"),
        (" ai:confirm", "' ai:confirm'"),
        ("ai:confirm\n", r"'ai:confirm\u{a}'"),
        ("ai: deny", "'ai: deny'"),
        ("\x1b[31mai:confirm", r"'\u{1b}[31mai:confirm'"),
        ("\u200bai:deny", r"'\u{200b}ai:deny'"),
        ("ai:de\u00adny", r"'ai:de\u{ad}ny'"),
        ("\uff21\uff29:deny", "\uff21\uff29:deny"),
    ],
)
def test_a_tag_that_only_looks_reserved_has_no_effect_and_is_told_as_it_is(
    tag: str, told: str
) -> None:
    assert tags.unknown_reserved((tag,)) == (told,)
    assert tags.confirm_trigger((tag,), ()) == ""


def test_a_group_lays_its_control_tags_on_a_command_behind_its_own() -> None:
    above = ("free", "ai:confirm", "ai:no_defer", RO, "ai:deny")
    assert tags.with_inherited(("a", "b"), above) == ("a", "b", "ai:deny", "ai:confirm")
    assert tags.with_inherited(("ai:confirm", "b"), above) == ("ai:confirm", "b", "ai:deny")
    assert tags.with_inherited(("a", "a"), ("free",)) == ("a", "a")


def test_tags_without_effect_on_a_group_are_found() -> None:
    own = ("free", DE, "ai:no_defer", "ai:confirm", "ai:deny", "AI:CONFIRM", DE)
    assert tags.idle_on_group(own) == (DE, "ai:no_defer", "AI:CONFIRM")


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
