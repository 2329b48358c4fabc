"""A Python function as a tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from fisk_ai.errors import DeferredError, SetupError
from fisk_ai.testing.events import ScriptedPrompter
from fisk_ai.text import gojson
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.builtin.factory import builtin_tool
from fisk_ai.toolkit.contract import (
    ArgumentValidator,
    BehaviorDescriber,
    CallContext,
    CallInfo,
    Confirmable,
    Describer,
    ExecDeps,
    Kind,
    Tagged,
)
from fisk_ai.toolkit.functool import (
    Confirm,
    Exposure,
    FunctionContext,
    FunctionSpec,
    FunctionTool,
    Handler,
    Wording,
)
from fisk_ai.toolkit.gate import control_error
from fisk_ai.toolkit.prompter import DefaultDenyPrompter

SCHEMA = {
    "type": "object",
    "properties": {"key": {"type": "string"}, "later": {}},
    "required": ["key"],
}


async def echo(raw: bytes, context: FunctionContext) -> str:
    return raw.decode()


def nested(levels: int) -> dict[str, object]:
    """Return a schema of so many objects inside one another."""
    schema: dict[str, object] = {"type": "object"}
    for _ in range(levels - 1):
        schema = {"type": "object", "items": schema}
    return schema


SPEC = FunctionSpec(name="keep", description="Keeps a thing.", schema=SCHEMA, handler=echo)


def in_words(raw: bytes) -> str:
    return f"keep \x1b[31m{raw.decode()}\n"


def plainly(raw: bytes) -> str:
    return "wipe it"


def broken(raw: bytes) -> str:
    raise KeyError("no such key")


async def test_a_function_has_every_ability_of_a_tool() -> None:
    tool = FunctionTool(SPEC)
    for ability in (Describer, Confirmable, ArgumentValidator, BehaviorDescriber, Tagged):
        assert isinstance(tool, ability)
    assert (tool.name, tool.description, tool.command()) == ("keep", "Keeps a thing.", "keep")
    assert (tool.mcp_exposable, tool.a2a_exposable) == (False, False)
    assert tool.definition(defer_loading=True).defer_loading
    assert tool.input_schema() == SCHEMA
    assert (tool.tags(), tool.needs_confirm(["rw"]), tool.confirm_trigger(["rw"])) == (
        (),
        False,
        "",
    )
    assert tool.describe(b"{}") == CallInfo(
        present="self_rendered", kind="custom", needs_prompter=True, needs_work_dir=True
    )


@pytest.mark.parametrize("raw", [b"", b" \n", b"null", b" null ", b"{}"])
async def test_a_call_without_arguments_brings_an_empty_object(raw: bytes) -> None:
    outcome = await FunctionTool(SPEC).execute(CallContext(), raw, ExecDeps())
    assert (outcome.output, outcome.exec) == ("{}", None)


async def test_the_handler_is_told_which_call_it_is(tmp_path: Path) -> None:
    seen: list[FunctionContext] = []

    async def keep(raw: bytes, context: FunctionContext) -> str:
        seen.append(context)
        return "kept"

    prompter = ScriptedPrompter()
    call = CallContext(call_ref="s/t1", tool_use_id="t1")
    tool = FunctionTool(replace(SPEC, handler=keep))
    await tool.execute(call, b"{}", ExecDeps(prompter=prompter, work_dir=tmp_path))
    assert seen == [
        FunctionContext(tool_use_id="t1", call_ref="s/t1", work_dir=tmp_path, prompter=prompter)
    ]
    await tool.execute(CallContext(), b"{}", ExecDeps())
    assert isinstance(seen[1].prompter, DefaultDenyPrompter)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": ""}, "a function tool has no name"),
        ({"name": "a b"}, '"a b" has a name that model providers refuse'),
        ({"name": "x" * 129}, "has a name that model providers refuse"),
        ({"description": " \n"}, '"keep" has no description'),
        ({"schema": {}}, '"keep" has no schema of type object'),
        ({"schema": {"type": "string"}}, "has no schema of type object"),
        ({"schema": {"type": "object", "x": {1}}}, "has a schema that is no JSON"),
        ({"schema": {"type": "object", "x": float("nan")}}, "has a schema that is no JSON"),
        ({"schema": nested(101)}, "has a schema that is nested more than 100 levels deep"),
        ({"schema": nested(5000)}, "has a schema that is nested more than 100 levels deep"),
        ({"handler": None}, '"keep" has no handler'),
        ({"kind": "remote"}, "is of kind remote"),
        ({"kind": "mcp"}, "is of kind mcp"),
        ({"kind": "application"}, "is of kind application"),
        ({"kind": "unknown"}, "is of kind unknown"),
        ({"behavior": Behavior(read_only=True, destructive=True)}, "read-only and destructive"),
        ({"validate_required": True, "schema": {"type": "object"}}, "its schema requires none"),
        (
            {"validate_required": True, "schema": {"type": "object", "required": []}},
            "its schema requires none",
        ),
        ({"confirm": Confirm(), "expose": Exposure(mcp=True)}, "may be served to others"),
        ({"confirm": Confirm(), "expose": Exposure(a2a=True)}, "may be served to others"),
    ],
)
def test_a_specification_that_is_no_tool_is_refused(change: dict[str, object], reason: str) -> None:
    spec = replace(SPEC, **cast("dict[str, Handler]", change))
    with pytest.raises(SetupError) as caught:
        FunctionTool(spec)
    assert reason in str(caught.value)


def test_the_schema_is_the_tools_own() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    tool = FunctionTool(replace(SPEC, schema=schema))
    schema["properties"] = {"added": {}}
    assert tool.input_schema() == {"type": "object", "properties": {}}


def test_models_are_told_of_declared_behaviour() -> None:
    quiet = FunctionTool(SPEC)
    told = FunctionTool(replace(SPEC, behavior=Behavior(read_only=True, open_world=False)))
    assert quiet.model_description == "Keeps a thing."
    assert told.model_description == "Keeps a thing.\n\nBehavior: read only, closed world"
    assert told.definition(defer_loading=False).description == told.model_description
    assert told.behavior() == Behavior(read_only=True, open_world=False)


def test_the_wording_of_a_call_is_cleaned_and_cut() -> None:
    tool = FunctionTool(replace(SPEC, trace=in_words))
    info = tool.describe(b'{"key":"a"}')
    assert (info.present, info.display) == ("traced", 'keep {"key":"a"}')
    assert info.display_short == info.display
    gated = FunctionTool(replace(SPEC, confirm=Confirm(summary=in_words)))
    for long in (tool.trace_line(b"x" * 900), gated.trace_line(b"x" * 900)):
        assert (len(long), long[-1]) == (501, "…")


def test_a_gated_tool_is_gated_by_its_first_tag_whatever_else_it_carries() -> None:
    tool = FunctionTool(replace(SPEC, confirm=Confirm(tags=("impact:rw", "ai:confirm"))))
    assert tool.tags() == ("ai:confirm", "impact:rw")
    assert tool.needs_confirm([])
    assert tool.confirm_trigger(["impact:rw"]) == "ai:confirm"


def test_a_gated_call_is_worded_by_its_summary_before_its_trace() -> None:
    gated = replace(SPEC, confirm=Confirm(summary=plainly), trace=in_words)
    assert FunctionTool(gated).trace_line(b"{}") == "wipe it"
    assert FunctionTool(gated).describe(b"{}").display_short == "keep {}"
    assert FunctionTool(replace(gated, confirm=Confirm())).trace_line(b"{}") == "keep {}"


@pytest.mark.parametrize("summary", [None, broken])
def test_a_person_reads_the_arguments_of_a_gated_call_nobody_worded(
    summary: Callable[[bytes], str] | None,
) -> None:
    tool = FunctionTool(replace(SPEC, confirm=Confirm(summary=summary)))
    assert tool.trace_line(b'{"key":1}') == ""
    assert tool.describe(b'{"key":1}').display == "keep '{\"key\":1}'"
    long = tool.describe(b'{"key":"' + b"x" * 5000 + b'"}').display
    assert "more)..." in long
    assert len(long) < 2000


def exiting(raw: bytes) -> str:
    raise SystemExit(3)


def numbering(raw: bytes) -> str:
    return cast("str", 5)


@pytest.mark.parametrize("trace", [broken, exiting, numbering])
def test_a_trace_that_fails_decides_nothing(trace: Wording) -> None:
    tool = FunctionTool(replace(SPEC, trace=trace))
    assert tool.describe(b"{}").display == ""


def test_required_arguments_are_looked_for_where_the_author_wants_it() -> None:
    lax, strict = FunctionTool(SPEC), FunctionTool(replace(SPEC, validate_required=True))
    assert lax.missing_required(b"{}") == []
    assert strict.missing_required(b"") == ["key"]
    assert strict.missing_required(b'{"key":null}') == []
    assert strict.missing_required(b"[]") == []
    message = strict.missing_required_message(["key"])
    assert '"keep"' in message
    assert "required: key; optional: later" in message


def test_a_tool_may_stay_in_front_and_wait_for_a_person() -> None:
    tool = FunctionTool(replace(SPEC, no_defer=True, operator_paced=True))
    assert not tool.definition(defer_loading=True).defer_loading
    assert tool.describe(b"{}").operator_paced


async def test_a_deferral_is_found_however_the_function_wrapped_it() -> None:
    async def later(raw: bytes, context: FunctionContext) -> str:
        try:
            raise DeferredError("soon", "h1")
        except DeferredError as exc:
            raise RuntimeError("could not") from exc

    async def grouped(raw: bytes, context: FunctionContext) -> str:
        raise ExceptionGroup("several", [ValueError("x"), ExceptionGroup("g", [DeferredError()])])

    async def bare(raw: bytes, context: FunctionContext) -> str:
        raise DeferredError

    for handler in (later, grouped, bare):
        with pytest.raises(Exception, match=r".") as caught:
            await FunctionTool(replace(SPEC, handler=handler)).execute(
                CallContext(), b"", ExecDeps()
            )
        assert isinstance(control_error(caught.value), DeferredError)


def test_an_error_that_is_its_own_cause_ends_the_search() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert control_error(first) is None


@pytest.mark.parametrize("kind", ["custom", "remote"])
def test_a_built_in_is_stamped_as_one_and_stays_in_front(kind: Kind) -> None:
    tool = builtin_tool(replace(SPEC, kind=kind), expose=Exposure(mcp=True))
    assert tool.describe(b"{}").kind == "builtin"
    assert not tool.definition(defer_loading=True).defer_loading
    assert (tool.mcp_exposable, tool.a2a_exposable) == (True, False)


def test_a_gated_built_in_may_be_served_since_an_operator_lists_it() -> None:
    tool = builtin_tool(replace(SPEC, confirm=Confirm()), expose=Exposure(mcp=True))
    assert tool.mcp_exposable


def test_a_built_in_that_is_no_tool_is_a_mistake_of_the_programmer() -> None:
    with pytest.raises(ValueError, match="no description"):
        builtin_tool(replace(SPEC, description=""), expose=Exposure())


def test_the_deepest_schema_that_is_taken_can_be_sent() -> None:
    schema = nested(100)
    assert FunctionTool(replace(SPEC, schema=schema)).input_schema() == schema
    assert gojson.loads(gojson.dumps(gojson.sort_deep(schema))) == schema
