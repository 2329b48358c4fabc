"""Options of a backend or a tool: read strictly, refused with their place."""

from __future__ import annotations

import msgspec
import pytest

from fisk_ai import options
from fisk_ai.errors import ConfigError


class Shape(msgspec.Struct, frozen=True):
    root: str = ""
    depth: int = 3
    deep: bool = False


class Nothing(msgspec.Struct, frozen=True):
    """Takes no options."""


def test_what_is_left_out_has_its_default() -> None:
    assert options.decode("x", {"depth": 1}, Shape, key="k") == Shape("", 1, deep=False)


@pytest.mark.parametrize(
    ("given", "reason", "name"),
    [
        ({"rot": "x"}, 'unknown key "rot", known are [root depth deep]', "rot"),
        ({"root": 1}, "root must be text, not a whole number", "root"),
        ({"root": 1.5}, "root must be text, not a number", "root"),
        ({"root": {}}, "root must be text, not a mapping of keys to values", "root"),
        ({"depth": "1"}, "depth must be a whole number, not text", "depth"),
        ({"deep": []}, "deep must be true or false, not a list", "deep"),
        ({"deep": None}, "deep must be true or false, not nothing", "deep"),
    ],
)
def test_a_wrong_option_is_told_with_its_place_and_what_it_must_be(
    given: dict[str, object], reason: str, name: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        options.decode("tool", given, Shape, key="harness.tools[2].options")
    assert str(caught.value) == f"invalid tool options: harness.tools[2].options: {reason}"
    assert caught.value.key == f"harness.tools[2].options.{name}"


def test_who_takes_no_options_says_so() -> None:
    with pytest.raises(ConfigError, match='unknown key "x", it takes none'):
        options.decode("tool", {"x": 1}, Nothing, key="k")


def test_an_endless_name_is_not_repeated_whole() -> None:
    with pytest.raises(ConfigError) as caught:
        options.decode("tool", {"x" * 1000: 1}, Shape, key="k")
    assert len(str(caught.value)) < 200
