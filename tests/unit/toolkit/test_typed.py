"""A tool from an annotated function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.functool import Confirm, FunctionContext, FunctionTool
from fisk_ai.toolkit.typed import tool


class Place(msgspec.Struct):
    latitude: float
    longitude: float


@dataclass
class Basket:
    items: list[str] = field(default_factory=list[str])


@tool
async def forecast(
    place: Place,
    days: Annotated[int, msgspec.Meta(description="How many", ge=1)] = 1,
    unit: Literal["c", "f"] = "c",
    *,
    context: FunctionContext,
) -> dict[str, object]:
    """Say the weather.

    For some days.
    """
    return {"days": days, "at": place, "unit": unit, "call": context.call_ref}


async def call(built: FunctionTool, arguments: object, ref: str = "") -> str:
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    outcome = await built.execute(CallContext(call_ref=ref), raw, ExecDeps())
    return outcome.output


def test_name_description_and_schema_come_from_the_function() -> None:
    assert (forecast.name, forecast.description) == (
        "forecast",
        "Say the weather.\n\nFor some days.",
    )
    assert forecast.input_schema() == {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place"},
            "days": {"type": "integer", "description": "How many", "minimum": 1, "default": 1},
            "unit": {"enum": ["c", "f"], "default": "c"},
        },
        "required": ["place"],
        "additionalProperties": False,
        "$defs": {
            "Place": {
                "title": "Place",
                "type": "object",
                "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number"}},
                "required": ["latitude", "longitude"],
            }
        },
    }
    assert forecast.missing_required(b"{}") == ["place"]


async def test_arguments_arrive_as_their_types_and_the_result_as_json() -> None:
    output = await call(forecast, {"place": {"latitude": 1, "longitude": 2.5}}, ref="s/1")
    assert json.loads(output) == {
        "days": 1,
        "at": {"latitude": 1.0, "longitude": 2.5},
        "unit": "c",
        "call": "s/1",
    }


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "required field `place`"),
        ({"place": {"latitude": "x", "longitude": 1}}, r"at `$.place.latitude`"),
        ({"place": {"latitude": 1, "longitude": 1}, "days": 0}, "`int` >= 1"),
        ({"place": {"latitude": 1, "longitude": 1}, "context": {}}, "unknown field `context`"),
        ([], "Expected `object`, got `array`"),
        (b'{"place":', "invalid forecast input"),
        (b"[" * 100_000, "invalid forecast input"),
    ],
)
async def test_wrong_input_is_an_error_a_model_can_mend(arguments: object, reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        await call(forecast, arguments)
    assert str(caught.value).startswith("invalid forecast input: ")
    assert reason in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["place", "days", "unit", "context", "x"]), JSON)


@given(
    st.binary() | JSON.map(json.dumps).map(str.encode) | ARGUMENTS.map(json.dumps).map(str.encode)
)
def test_whatever_a_model_sends_is_a_result_or_an_error_it_can_read(raw: bytes) -> None:
    try:
        output = asyncio.run(call(forecast, raw))
    except ToolError as exc:
        output = str(exc)
    assert output.startswith(("invalid forecast input: ", '{"days":'))


async def test_text_is_returned_as_it_is_and_a_lone_surrogate_is_replaced() -> None:
    @tool
    async def shout(text: str = "nothing") -> str:
        """Shout."""
        return text.upper() + "!"

    assert await call(shout, b'{"text":"a\\ud83d"}') == "A\ufffd!"
    assert await call(shout, b"") == "NOTHING!"
    assert shout.missing_required(b"{}") == []


async def test_a_default_is_no_memory_between_calls() -> None:
    @tool
    async def collect(item: str, into: list[Basket] = [Basket()]) -> list[Basket]:  # noqa: B006, B008 - that is the point
        """Collect."""
        into[0].items.append(item)
        return into

    assert await call(collect, {"item": "a"}) == '[{"items":["a"]}]'
    assert await call(collect, {"item": "b"}) == '[{"items":["b"]}]'


async def test_a_result_without_json_form_is_an_error_of_the_tool() -> None:
    @tool
    async def odd() -> object:
        """Return what no JSON is."""
        return object()

    with pytest.raises(ToolError, match='"odd" returned what has no JSON form'):
        await call(odd, {})


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}, [None, -float("inf")]])
async def test_a_number_that_is_none_never_becomes_null(value: object) -> None:
    @tool
    async def odd() -> object:
        """Return what no JSON is."""
        return value

    with pytest.raises(ToolError, match='"odd" returned what has no JSON form'):
        await call(odd, {})


async def test_nothing_is_a_result_like_any_other() -> None:
    @tool
    async def empty() -> object:
        """Return nothing beside a date."""
        return {"a": None, "b": "null", "day": date(2026, 1, 2), 3: 1.5}

    assert await call(empty, {}) == '{"a":null,"b":"null","day":"2026-01-02","3":1.5}'


def test_options_set_what_annotations_do_not_say() -> None:
    @tool(
        name="wipe_all",
        description="Wipes.",
        confirm=Confirm(tags=("rw",)),
        behavior=Behavior(destructive=True),
        no_defer=True,
    )
    async def wipe() -> str:
        return "gone"

    assert (wipe.name, wipe.tags()) == ("wipe_all", ("ai:confirm", "rw"))
    assert wipe.model_description == "Wipes.\n\nBehavior: destructive"
    assert not wipe.definition(defer_loading=True).defer_loading


def plain(text: str) -> str:
    """Not async."""
    return text


async def bare(text: str) -> str:
    """No annotation, once it is taken away."""
    return ""


del bare.__annotations__["text"]


async def many(*texts: str) -> str:
    """Several."""
    return ""


async def positional(text: str, /) -> str:
    """By place."""
    return ""


async def early(context: FunctionContext, text: str) -> str:
    """Context in front."""
    return ""


async def undocumented(text: str) -> str:
    return text


async def unknown(text: str) -> str:
    """A type that nobody imported."""
    return ""


unknown.__annotations__["text"] = "Missing"


async def schemaless(text: Callable[[], None]) -> str:
    """No JSON type."""
    return ""


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (plain, '"plain" is not an async function'),
        (bare, 'parameter "text" has no annotation'),
        (many, "cannot be given by name"),
        (positional, "cannot be given by name"),
        (early, "must be keyword-only"),
        (undocumented, '"undocumented" has no description'),
        (unknown, '"unknown" has an annotation that cannot be read'),
        (schemaless, '"schemaless" has parameters of no JSON form'),
    ],
)
def test_a_function_that_can_be_no_tool_is_refused(
    function: Callable[..., Awaitable[object]], reason: str
) -> None:
    with pytest.raises(SetupError) as caught:
        tool(function)
    assert reason in str(caught.value)
