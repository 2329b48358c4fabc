"""Which commands become tools, and what they are called and described as."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from fisk_ai.config import Config
from fisk_ai.errors import SetupError
from fisk_ai.toolkit.contract import Tool
from fisk_ai.toolkit.fisk.application import LoadedApplication, load
from fisk_ai.toolkit.fisk.document import Command
from fisk_ai.toolkit.fisk.tree import check_names, combined_help, leaves

Loading = Callable[..., Awaitable[LoadedApplication]]
Named = Callable[[Sequence[Tool], str], Tool]

PROGRAM = Path("/opt/program")


async def test_leaves_become_tools_in_declared_order_without_hidden_denied_and_groups(
    loaded: Loading,
) -> None:
    application = await loaded("harbour")
    names = [tool.name for tool in application.tools]
    assert names == ["ship_list", "ship_dock", "ship_scrap", "survey"]


async def test_a_default_group_makes_no_tool_and_its_flags_are_unreachable(
    loaded: Loading, named: Named
) -> None:
    application = await loaded("harbour")
    schema = named(application.tools, "ship_list").input_schema()
    assert "pier" not in str(schema)


async def test_the_schema_is_the_applications_own(loaded: Loading, named: Named) -> None:
    application = await loaded("bakery")
    assert named(application.tools, "rest").input_schema() == {}
    schema = named(application.tools, "bake").input_schema()
    assert schema["required"] == ["bread"]
    assert list(schema) == ["type", "additionalProperties", "properties", "required"]


@pytest.mark.parametrize(
    ("short", "long", "combined"),
    [
        ("a", "", "a"),
        ("", "b", "b"),
        ("", "", ""),
        ("Run", "Run fast", "Run fast"),
        ("Run fast", "fast", "Run fast"),
        ("Run", "Walk", "Run\n\nWalk"),
    ],
)
def test_both_helps_are_combined_without_saying_anything_twice(
    short: str, long: str, combined: str
) -> None:
    assert combined_help(short, long) == combined


async def test_models_read_all_tags_in_author_order_and_people_the_short_help(
    loaded: Loading, named: Named
) -> None:
    application = await loaded("harbour")
    dock = named(application.tools, "ship_dock")
    assert dock.description == "Give a ship a berth"
    assert dock.model_description == (
        "Give a ship a berth.\nIt has to fit.\n\nTags: ai:additive, ai:confirm, dock:write"
    )
    assert named((await loaded("bakery")).tools, "rest").description == "Let the dough rest"


def test_a_command_without_help_is_described_by_its_tags_alone() -> None:
    (leaf,) = leaves([Command(name="x", tags=("a", "b"), restricted_schema={})], PROGRAM)
    assert leaf.model_description == "Tags: a, b"


def test_two_paths_under_one_name_are_refused_and_both_named() -> None:
    twice = [
        Command(name="a_b", restricted_schema={}),
        Command(name="a", commands=(Command(name="b", restricted_schema={}),)),
    ]
    with pytest.raises(SetupError) as caught:
        check_names(leaves(twice, PROGRAM))
    assert '"a_b"' in str(caught.value)
    assert '"a b"' in str(caught.value)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "ä", "x" * 129, "a\n"])
def test_a_name_no_provider_takes_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(SetupError, match="exclude it"):
        check_names(leaves([Command(name=name, restricted_schema={})], PROGRAM))
    check_names(leaves([Command(name="x" * 128, restricted_schema={})], PROGRAM))


def test_a_name_with_controls_is_shown_with_them_when_it_is_refused() -> None:
    leaf = Command(name="li\x1b[2Kst\u202e", restricted_schema={})
    with pytest.raises(SetupError) as caught:
        check_names(leaves([leaf], PROGRAM))
    assert r'command "li\x1b[2Kst\u202e" would become the tool "li\x1b[2Kst\u202e"' in str(
        caught.value
    )
    with pytest.raises(SetupError, match=r'command "li\\x1bst" has no precomputed schema'):
        leaves([Command(name="li\x1bst")], PROGRAM)


@pytest.mark.parametrize("word", ["-x", "--help", "--", "-", ""])
def test_a_command_that_would_be_read_as_a_flag_is_refused_with_the_way_out(word: str) -> None:
    group = Command(name="ship", commands=(Command(name=word, restricted_schema={}),))
    with pytest.raises(SetupError) as caught:
        check_names(leaves([group], PROGRAM))
    assert f'"ship {word}"' in str(caught.value)
    assert f'exclude "ship_{word}"' in str(caught.value)


async def test_a_command_named_like_a_flag_can_be_excluded(
    configure: Callable[..., Config], program: Callable[..., Path]
) -> None:
    path = program(
        """cat <<'X'
{"name":"x","commands":[{"name":"--help","restricted_schema":{}},
{"name":"-g","commands":[{"name":"go","restricted_schema":{}}]},
{"name":"a-b","restricted_schema":{}}]}
X"""
    )
    with pytest.raises(SetupError):
        await load(configure(path), environ=os.environ)
    application = await load(configure(path, "exclude: {tools: ['^-']}\n"), environ=os.environ)
    assert [tool.name for tool in application.tools] == ["a-b"]


def test_a_command_whose_schema_no_request_could_hold_is_refused_by_name() -> None:
    schema: dict[str, object] = {"type": "object"}
    for _ in range(75):
        schema = {"type": "object", "properties": {"in": schema}}
    group = Command(name="ship", commands=(Command(name="dock", restricted_schema=schema),))
    with pytest.raises(SetupError) as caught:
        leaves([group], PROGRAM)
    assert str(caught.value) == (
        '/opt/program: the schema of command "ship dock" is nested more than 100 levels deep; '
        "flatten it"
    )
