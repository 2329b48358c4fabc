"""Which tools a filter keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest

from fisk_ai.errors import ConfigError
from fisk_ai.toolkit.fisk.application import LoadedApplication
from fisk_ai.toolkit.selection import Selection, compile_filter

Loading = Callable[..., Awaitable[LoadedApplication]]


@pytest.mark.parametrize(
    ("tools", "tags", "name", "own", "matches"),
    [
        (["hip_l"], [], "ship_list", (), True),
        (["^list"], [], "ship_list", (), False),
        (["SHIP"], [], "ship_list", (), False),
        (["[[:alpha:]]_list"], [], "ship_list", (), True),
        ([], ["write"], "x", ("read", "write"), True),
        ([], ["writ"], "x", ("write",), False),
        ([], [""], "x", (), True),
        ([], [""], "x", ("a",), False),
        (["^y$"], ["a"], "x", ("a",), True),
    ],
)
def test_a_tool_matches_by_pattern_or_by_exact_tag(
    tools: list[str], tags: list[str], name: str, own: Sequence[str], *, matches: bool
) -> None:
    compiled = compile_filter(tools, tags)
    assert compiled is not None
    assert compiled.matches(name, own) is matches


def test_a_filter_that_lists_nothing_is_none() -> None:
    assert compile_filter([], []) is None


@pytest.mark.parametrize("pattern", ["(", "a**", "(?=x)", r"\1"])
def test_a_pattern_that_is_no_re2_is_refused_quietly_and_quoted(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_filter(["ok", pattern], [], key="exclude.tools")
    reason = f'exclude.tools[1]: invalid tool filter pattern "{pattern}": '
    assert str(caught.value).startswith(reason)
    assert caught.value.key == "exclude.tools[1]"
    assert capfd.readouterr().err == ""


def test_a_denied_tool_can_never_be_included() -> None:
    selection = Selection(include=compile_filter(["."], ["ai:deny"]))
    assert not selection.keeps("x", ("ai:deny",))
    assert not Selection().keeps("x", ("a", "ai:deny"))


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("", ["ship_list", "ship_dock", "ship_scrap", "survey"]),
        ("include: {tools: ['^ship_']}\n", ["ship_list", "ship_dock", "ship_scrap"]),
        ("include: {tags: ['']}\n", ["survey"]),
        ("include: {tags: ['ai:read_only']}\n", ["ship_list", "ship_scrap"]),
        ("exclude: {tools: ['^[[:alpha:]]+_s']}\n", ["ship_list", "ship_dock", "survey"]),
        (
            "include: {tools: [ship]}\nexclude: {tags: ['ai:destructive']}\n",
            ["ship_list", "ship_dock"],
        ),
        ("include: {tools: ['^burn']}\n", []),
    ],
)
async def test_include_narrows_and_exclude_narrows_further(
    loaded: Loading, more: str, kept: list[str]
) -> None:
    assert [tool.name for tool in (await loaded("harbour", more)).tools] == kept
