"""One namespace for all tools of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import pytest

from fisk_ai.errors import ConfigError, SetupError
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.testing.tools import FakeTool
from fisk_ai.toolkit.builtin.assemble import Builtins
from fisk_ai.toolkit.contract import Advisory, CallInfo, Tool
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.selection import Selection, compile_filter
from fisk_ai.toolkit.toolset import Sources, ToolSet, build, require_tools

Loading = Callable[..., Awaitable[LoadedApplication]]


def assemble(
    app_tools: Sequence[Tool] = (),
    custom: Sequence[Tool] = (),
    *,
    builtins: Sequence[Tool] = (),
    supports: bool = False,
    allow: bool = True,
) -> tuple[ToolSet, tuple[Advisory, ...]]:
    built_in = Builtins(
        tools=tuple(builtins), feature_of={tool.name: "harness.memory" for tool in builtins}
    )
    sources = Sources(app_tools=app_tools, custom_tools=custom, builtins=built_in)
    return build(sources, supports_tool_search=supports, allow_tool_search=allow)


def many(count: int) -> list[FakeTool]:
    return [FakeTool(name=f"tool_{number:02}") for number in range(count)]


async def test_the_applications_tools_come_in_their_order_and_custom_ones_by_name(
    loaded: Loading,
) -> None:
    application = await loaded("bakery")
    custom = [FakeTool(name="zebra"), FakeTool(name="apple")]
    tools, advisories = assemble(application.tools, custom)
    assert [tool.name for tool in tools.tools] == ["bake", "rest", "apple", "zebra"]
    assert [definition.name for definition in tools.definitions] == [
        "bake",
        "rest",
        "apple",
        "zebra",
    ]
    assert tools.by_name["apple"] is custom[1]
    assert advisories == ()
    with pytest.raises(TypeError):
        tools.by_name["new"] = custom[0]  # pyright: ignore[reportIndexIssue] - that is the point


def test_built_ins_are_defined_last_in_their_own_order() -> None:
    tools, _ = assemble(
        [FakeTool(name="z_app")],
        [FakeTool(name="m"), FakeTool(name="c")],
        builtins=[FakeTool(name="memory_read"), FakeTool(name="a_built_in")],
    )
    order = ["z_app", "c", "m", "memory_read", "a_built_in"]
    assert [tool.name for tool in tools.tools] == order
    assert [definition.name for definition in tools.definitions] == order
    assert list(tools.by_name) == order


async def test_definitions_are_the_same_bytes_every_time(loaded: Loading) -> None:
    first, second = [assemble((await loaded("harbour")).tools)[0] for _ in range(2)]
    assert repr(first.definitions) == repr(second.definitions)


async def test_a_custom_tool_cannot_shadow_a_command(loaded: Loading) -> None:
    application = await loaded("bakery")
    with pytest.raises(ConfigError, match='custom tool 1 "bake" collides with the application'):
        assemble(application.tools, [FakeTool(name="ok"), FakeTool(name="bake")])


def test_two_custom_tools_of_one_name_collide() -> None:
    with pytest.raises(ConfigError, match='custom tool 1 "x" collides with the earlier custom'):
        assemble(custom=[FakeTool(name="x"), FakeTool(name="x")])


def test_two_commands_of_one_name_collide() -> None:
    with pytest.raises(ConfigError, match='"x"'):
        assemble([FakeTool(name="x"), FakeTool(name="x")])


async def test_a_built_in_cannot_shadow_a_command_and_says_which_key_adds_it(
    loaded: Loading,
) -> None:
    application = await loaded("bakery")
    with pytest.raises(ConfigError) as caught:
        assemble(application.tools, builtins=[FakeTool(name="bake")])
    assert str(caught.value) == (
        'harness.memory adds the built-in tool "bake", which collides with the application tool of '
        "that name; exclude or rename the application's, or switch harness.memory off"
    )
    assert caught.value.key == "harness.memory"


def test_a_command_of_several_words_is_named_as_a_person_types_it() -> None:
    command = FakeTool(name="memory_read")
    with pytest.raises(ConfigError, match='of that name, the command "memory read"; exclude'):
        assemble([command], builtins=[FakeTool(name="memory_read")])


def test_a_custom_tool_cannot_shadow_a_built_in() -> None:
    with pytest.raises(ConfigError) as caught:
        assemble(custom=[FakeTool(name="m")], builtins=[FakeTool(name="m")])
    assert str(caught.value) == (
        'custom tool 0 "m" collides with the built-in tool of that name, which harness.memory '
        "adds; rename one or exclude it"
    )


def test_two_built_ins_of_one_name_collide() -> None:
    with pytest.raises(ConfigError, match="collides with the built-in tool of that name"):
        assemble(builtins=[FakeTool(name="m"), FakeTool(name="m")])


class Liar(FakeTool):
    def definition(self, *, defer_loading: bool) -> ToolDef:
        return ToolDef("other", "", {}, defer_loading)


class Remote(FakeTool):
    def describe(self, raw: bytes) -> CallInfo:
        return CallInfo(present="remote")


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (None, "custom tool 1 is None"),
        (FakeTool(name=""), "custom tool 1 has no name"),
        (Liar(name="x"), 'custom tool 1 "x" defines itself to models as "other"'),
        (FakeTool(name="a b"), 'custom tool 1 "a b" has a name that model providers refuse'),
        (Remote(name="x"), 'custom tool 1 "x" presents itself'),
        (FakeTool(name="x", kind="remote"), 'custom tool 1 "x" presents itself'),
        (FakeTool(name="x", kind="mcp"), 'custom tool 1 "x" presents itself'),
    ],
)
def test_a_custom_tool_that_cannot_be_one_is_named_by_its_place(
    tool: FakeTool | None, reason: str
) -> None:
    with pytest.raises(SetupError) as caught:
        assemble(custom=[FakeTool(name="ok"), cast("Tool", tool)])
    assert reason in str(caught.value)


def test_a_collision_is_found_before_the_presentation() -> None:
    with pytest.raises(ConfigError, match="collides"):
        assemble(custom=[FakeTool(name="x"), Remote(name="x")])


def test_an_excluded_custom_tool_claims_no_name() -> None:
    selection = Selection(exclude=compile_filter(["^x$"], []))
    tools, _ = build(
        Sources(
            app_tools=[FakeTool(name="x")],
            custom_tools=[FakeTool(name="x"), FakeTool(name="y")],
        ),
        supports_tool_search=False,
        allow_tool_search=True,
        selection=selection,
    )
    assert [tool.name for tool in tools.tools] == ["x", "y"]


@pytest.mark.parametrize(
    ("count", "supports", "allow", "search", "advised"),
    [
        (9, True, True, False, False),
        (10, True, True, True, False),
        (10, True, False, False, False),
        (10, False, True, False, True),
        (10, False, False, False, False),
        (9, False, True, False, False),
    ],
)
def test_tools_are_searched_from_ten_on_where_the_provider_can(
    count: int, *, supports: bool, allow: bool, search: bool, advised: bool
) -> None:
    tools, advisories = assemble(many(count - 1), many(count)[-1:], supports=supports, allow=allow)
    assert tools.tool_search is search
    assert all(definition.defer_loading is search for definition in tools.definitions)
    expected = (Advisory(kind="tool_search_unsupported", count=count),) if advised else ()
    assert advisories == expected


@pytest.mark.parametrize(("others", "search"), [(8, False), (9, True)])
def test_a_built_in_counts_towards_the_search_and_is_never_behind_it(
    others: int, *, search: bool
) -> None:
    tools, _ = assemble(many(others), builtins=[FakeTool(name="memory_read")], supports=True)
    assert tools.tool_search is search
    assert [definition.defer_loading for definition in tools.definitions] == [
        *[search] * others,
        False,
    ]


def test_there_is_no_search_when_nothing_is_left_to_search() -> None:
    tools, advisories = assemble(builtins=many(12), supports=True)
    assert (tools.tool_search, advisories) == (False, ())


async def test_a_command_tagged_so_is_never_deferred(loaded: Loading) -> None:
    tools, _ = assemble((await loaded("harbour")).tools, many(9), supports=True)
    deferred = {definition.name: definition.defer_loading for definition in tools.definitions}
    assert deferred["ship_list"] is False
    assert deferred["ship_dock"] is True


@pytest.mark.parametrize(
    ("path", "reason", "key"),
    [
        ("app", 'no tools available after filtering; check include/exclude in "a.yaml"', "include"),
        (
            "",
            (
                "switch on harness.human_in_the_loop, harness.memory or harness.tools, or bring "
                "tools of your own with --worker FILE"
            ),
            "application_path",
        ),
    ],
)
def test_a_run_without_tools_says_what_would_add_one(path: str, reason: str, key: str) -> None:
    empty, _ = assemble()
    with pytest.raises(ConfigError) as caught:
        require_tools(empty.tools, application_path=path, source="a.yaml")
    assert reason in str(caught.value)
    assert caught.value.key == key
    require_tools(assemble(many(1))[0].tools, application_path=path, source="a.yaml")
