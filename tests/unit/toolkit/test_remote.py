"""Tools of other agents: which come in, under which names, and what is said of the others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a.messages import BehaviorHints, ToolDescriptor
from fisk_ai.bus.connection import Connection
from fisk_ai.config.model import ToolFilter
from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.remote import Caller, Host, Imported, import_tools

CALLER = Caller(cast("Connection", None), "watchman", 30.0)
"""Nobody is called here."""


def host(
    name: str,
    *tools: str | ToolDescriptor,
    alias: str = "",
    include: ToolFilter | None = None,
    exclude: ToolFilter | None = None,
) -> Host:
    return Host(
        name=name,
        alias=alias or name,
        include=include or ToolFilter(),
        exclude=exclude or ToolFilter(),
        tools=[shown(tool) if isinstance(tool, str) else tool for tool in tools],
    )


def shown(name: str) -> ToolDescriptor:
    return ToolDescriptor(name=name, description="does it")


def imported(hosts: Sequence[Host], claimed: Sequence[str] = ()) -> Imported:
    return import_tools(hosts, claimed, CALLER)


def names(hosts: Sequence[Host], claimed: Sequence[str] = ()) -> list[str]:
    return [tool.name for tool in imported(hosts, claimed).tools]


def test_a_tool_keeps_its_name_where_nobody_else_has_it() -> None:
    assert names([host("a", "find"), host("b", "lend")]) == ["find", "lend"]


def test_a_name_of_this_agents_own_is_led_by_the_alias() -> None:
    assert names([host("a", "find", "lend", alias="x")], ["find"]) == ["x_find", "lend"]


def test_a_name_that_two_agents_have_is_led_by_both_aliases() -> None:
    assert names([host("a", "find"), host("b", "find")]) == ["a_find", "b_find"]


@pytest.mark.parametrize(
    ("hosts", "claimed"),
    [
        ([host("a", "find", "find")], []),
        ([host("a", "find", alias="x"), host("b", "find", alias="x")], []),
        ([host("a", "find")], ["find", "a_find"]),
        ([host("a", "find"), host("b", "a_find")], ["find"]),
    ],
)
def test_names_that_clash_even_so_are_refused_with_their_agent(
    hosts: list[Host], claimed: list[str]
) -> None:
    with pytest.raises(ConfigError, match="_find of a") as refused:
        imported(hosts, claimed)
    assert refused.value.key == "remote_tools"
    assert "alias" in str(refused.value)


@given(
    cards=st.lists(st.sets(st.sampled_from("pqrst"), max_size=4), min_size=1, max_size=4),
    claimed=st.sets(st.sampled_from("pqrst"), max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_names_do_not_depend_on_the_order_of_the_agents(
    cards: list[set[str]], claimed: set[str], order: random.Random
) -> None:
    hosts = [host(f"h{number}", *sorted(card)) for number, card in enumerate(cards)]
    once = names(hosts, sorted(claimed))
    order.shuffle(hosts)
    assert sorted(names(hosts, sorted(claimed))) == sorted(once)
    assert len({*once, *claimed}) == len(once) + len(claimed)


def test_filters_match_the_other_agents_own_names() -> None:
    two = host(
        "a",
        "find",
        "find_all",
        "lend",
        include=ToolFilter(tools=["^find"]),
        exclude=ToolFilter(tools=["all$"]),
    )
    assert names([two], ["find"]) == ["a_find"]


def test_a_filter_of_tags_keeps_everything_and_is_warned_of() -> None:
    found = imported([host("a", "find", include=ToolFilter(tags=["x"]))])
    assert [tool.name for tool in found.tools] == ["find"]
    assert [(each.kind, each.name) for each in found.advisories] == [
        ("remote_tag_filter_ignored", "a")
    ]


def test_what_can_be_no_tool_here_is_left_out_with_its_reason() -> None:
    deep: dict[str, object] = {}
    for _ in range(2000):
        deep = {"properties": deep}
    found = imported(
        [
            host(
                "a",
                "find",
                "two words",
                ToolDescriptor(name="mute", description=" "),
                ToolDescriptor(name="deep", description="d", input_schema=deep),
            )
        ]
    )
    assert [tool.name for tool in found.tools] == ["find"]
    (told,) = found.advisories
    assert (told.kind, told.name) == ("remote_tools_skipped", "a")
    assert [each.split(" (")[0] for each in told.params] == ["two words", "mute", "deep"]


def test_an_agent_that_lends_nothing_is_warned_of() -> None:
    (told,) = imported([host("a")]).advisories
    assert (told.kind, told.name) == ("remote_no_tools", "a")


def test_without_a_schema_any_object_is_accepted() -> None:
    (tool,) = imported([host("a", "find")]).tools
    assert tool.input_schema() == {"type": "object"}


def test_effects_that_contradict_each_other_are_read_dangerously() -> None:
    hints = BehaviorHints(read_only=True, destructive=True)
    told = ToolDescriptor(name="wipe", description="d", behavior=hints)
    (tool,) = imported([host("a", told)]).tools
    assert tool.behavior().read_only is not True
    assert tool.behavior().destructive is True


def test_a_card_cannot_write_to_a_terminal() -> None:
    (tool,) = imported([host("a", "find")]).tools
    info = tool.describe(b"{}")
    assert (info.kind, info.agent, info.display) == ("remote", "a", "find on a")
    found = imported([host("a", ToolDescriptor(name="\x1b[2J", description="d"))])
    assert "\x1b" not in str(found.advisories)
