"""Global flags: which are offered, how they look, and where they stand on the command line."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.contract import Describer, Tool
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.fisk.document import Application, Flag
from fisk_ai.toolkit.fisk.globals import GlobalFlag, merged_schema, normalise, resolve

Loading = Callable[..., Awaitable[LoadedApplication]]
Named = Callable[[Sequence[Tool], str], Tool]


def properties(tool: Tool) -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", tool.input_schema()["properties"])


def line(tool: Tool, raw: bytes) -> str:
    assert isinstance(tool, Describer)
    return tool.describe(raw).display


def test_names_are_trimmed_freed_of_dashes_and_kept_once() -> None:
    assert normalise([" --region ", "-region", "", "--", "port", "region"]) == ["region", "port"]


async def test_listed_flags_come_in_list_order_and_required_ones_behind_them(
    loaded: Loading, named: Named
) -> None:
    application = await loaded("harbour", "global_flags: [--trace, region]\n")
    assert application.global_flags == ("trace", "region", "port", "mark")
    assert application.available_flags == (
        GlobalFlag(name="region", help="Which coast", offered=True),
        GlobalFlag(name="port", help="Which port", required=True, offered=True),
        GlobalFlag(name="trace", offered=True),
        GlobalFlag(name="mark", help="Marks", offered=True),
    )
    shown = properties(named(application.tools, "ship_list"))
    assert list(shown)[-4:] == ["trace", "region", "port", "mark"]
    assert shown["trace"] == {"description": "Global flag", "type": "boolean"}
    assert shown["region"] == {
        "description": "Global flag: Which coast",
        "type": "string",
        "enum": ["north", "south"],
    }
    assert shown["mark"] == {
        "description": "Global flag: Marks",
        "type": "array",
        "items": {"type": "string"},
    }


async def test_a_required_global_is_required_unless_it_has_a_default(
    loaded: Loading, named: Named
) -> None:
    application = await loaded("harbour")
    assert named(application.tools, "ship_list").input_schema()["required"] == ["port"]
    assert named(application.tools, "ship_dock").input_schema()["required"] == [
        "name",
        "draft",
        "port",
    ]


async def test_a_commands_own_flag_wins_over_the_global_of_its_name(
    loaded: Loading, named: Named
) -> None:
    survey = named((await loaded("harbour")).tools, "survey")
    assert properties(survey)["port"] == {
        "description": "Another port for this survey",
        "type": "string",
    }
    assert "required" not in survey.input_schema()
    assert line(survey, b'{"port":"x"}') == "survey --port=x"


async def test_globals_stand_behind_the_path_and_before_everything_else(
    loaded: Loading, named: Named
) -> None:
    application = await loaded("harbour", "global_flags: [trace, region]\n")
    dock = named(application.tools, "ship_dock")
    raw = (
        b'{"name":"Otter","draft":2.50,"port":"A","region":"north","trace":false,"mark":["1","2"]}'
    )
    assert line(dock, raw) == (
        "ship dock --no-trace --region=north --port=A --mark=1 --mark=2 --draft=2.50 -- Otter"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nothing", "not a global flag"), ("key", "hidden"), ("version", "not a global flag")],
)
async def test_a_name_that_cannot_be_offered_says_why(
    loaded: Loading, name: str, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        await loaded("harbour", f"global_flags: [{name}]\n")
    assert caught.value.key == "global_flags"
    assert f'"{name}"' in str(caught.value)


def test_a_flag_of_the_framework_is_told_from_a_typing_mistake() -> None:
    application = Application(name="x", flags=(Flag(name="version", required=True),))
    with pytest.raises(ConfigError, match="flag of the framework"):
        resolve(["version"], application)
    assert resolve([], application) == ()


def test_a_hidden_required_global_is_offered_since_nothing_runs_without_it() -> None:
    flag = Flag(name="realm", required=True, hidden=True)
    assert resolve([], Application(name="x", flags=(flag,))) == (flag,)


def test_merging_changes_neither_the_schema_nor_what_lies_in_it() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"own": {"type": "string"}},
        "required": ["own"],
    }
    before = copy.deepcopy(schema)
    flag = Flag(name="extra", required=True)
    first, second = merged_schema(schema, [flag]), merged_schema(schema, [flag])
    assert schema == before
    assert first == second
    assert first["required"] == ["own", "extra"]


def test_an_existing_property_stays_as_it_is() -> None:
    schema: dict[str, object] = {"properties": {"x": {"type": "integer"}}}
    assert merged_schema(schema, [Flag(name="x", required=True)]) == schema


def test_a_counter_is_a_plain_boolean_and_a_schema_without_properties_gets_them() -> None:
    flags = [Flag(name="v", boolean=True, cumulative=True, completions=("a",))]
    assert merged_schema({}, flags) == {
        "properties": {"v": {"description": "Global flag", "type": "boolean"}}
    }
