"""A tool from an ordinary async function: its annotations are the schema, its docstring the help.

::

    @tool
    async def weather(city: str, days: int = 1) -> list[str]:
        \"\"\"Say the weather of a city for some days.\"\"\"

What a model sends is read into the annotated types before the function runs, so wrong input never
reaches it. Rules: ``docs/reference/embedding.md``.
"""

from __future__ import annotations

import copy
import inspect
import json
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TypedDict, Unpack, cast, overload

import msgspec

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.functool import (
    Confirm,
    Exposure,
    FunctionContext,
    FunctionSpec,
    FunctionTool,
    Handler,
    Wording,
)
from fisk_ai.toolkit.inputs import decode

Function = Callable[..., Awaitable[object]]

_UNCHANGEABLE = (str, bytes, int, float, Enum)
"""Types of defaults that models may be told of: calls can share them."""


class Traits(TypedDict, total=False):
    """The fields of a specification that an annotation does not say."""

    confirm: Confirm
    trace: Wording
    no_defer: bool
    operator_paced: bool
    expose: Exposure
    behavior: Behavior


class Options(Traits, total=False):
    """What a decorated function may set besides; name and description in place of its own."""

    name: str
    description: str


@overload
def tool(function: Function, /) -> FunctionTool: ...


@overload
def tool(**options: Unpack[Options]) -> Callable[[Function], FunctionTool]: ...


def tool(
    function: Function | None = None, /, **options: Unpack[Options]
) -> FunctionTool | Callable[[Function], FunctionTool]:
    """Turn an async function into a tool, as ``@tool`` or ``@tool(behavior=...)``.

    Every parameter is an argument of that name, required when it has no default. A keyword-only
    parameter annotated :class:`FunctionContext` gets the context of the call. A returned ``str`` is
    what the model reads; anything else is written as JSON.

    Raises:
        SetupError: the function cannot be a tool; names it and the parameter.
    """
    if function is not None:
        return _tool(function, {})
    return lambda function: _tool(function, options)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signature:
    """The arguments as one type, and the parameter that takes the context, if there is one."""

    arguments: type[msgspec.Struct]
    context: str = ""


def _tool(function: Function, options: Options) -> FunctionTool:
    name = options.get("name") or getattr(function, "__name__", "")
    if not inspect.iscoroutinefunction(function):
        raise SetupError(f'function tool "{name}" is not an async function; write async def')
    signature = _signature(name, function)
    schema = _schema(name, signature.arguments)
    traits = {key: value for key, value in options.items() if key not in ("name", "description")}
    return FunctionTool(
        FunctionSpec(
            name=name,
            description=options.get("description") or inspect.getdoc(function) or "",
            schema=schema,
            handler=_handler(name, function, signature),
            validate_required=bool(schema.get("required")),
            **cast("Traits", traits),
        )
    )


def _signature(name: str, function: Function) -> _Signature:
    hints = _hints(name, function)
    fields: list[tuple[str, object] | tuple[str, object, object]] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        hint = _hint_of(name, parameter, hints)
        if hint is FunctionContext:
            context = _context_parameter(name, parameter)
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, _default(parameter.default)))
    try:
        arguments = msgspec.defstruct(
            "Arguments",
            cast("list[tuple[str, type]]", fields),
            kw_only=True,
            forbid_unknown_fields=True,
        )
    except (TypeError, ValueError) as exc:
        raise SetupError(f'function tool "{name}" has parameters of no JSON form: {exc}') from exc
    return _Signature(arguments=arguments, context=context)


def _hints(name: str, function: Function) -> Mapping[str, object]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as exc:
        raise SetupError(
            f'function tool "{name}" has an annotation that cannot be read: {exc}; use types that '
            "its module defines or imports at run time"
        ) from exc


def _hint_of(name: str, parameter: inspect.Parameter, hints: Mapping[str, object]) -> object:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise SetupError(
            f'function tool "{name}": parameter "{parameter}" cannot be given by name; '
            "write plain parameters"
        )
    if parameter.name not in hints:
        raise SetupError(
            f'function tool "{name}": parameter "{parameter.name}" has no annotation; give it one'
        )
    return hints[parameter.name]


def _context_parameter(name: str, parameter: inspect.Parameter) -> str:
    if parameter.kind is not parameter.KEYWORD_ONLY:
        raise SetupError(
            f'function tool "{name}": parameter "{parameter.name}" takes the context, so it must '
            "be keyword-only; write it behind a *"
        )
    return parameter.name


def _default(value: object) -> object:
    """Return a default that no two calls share, whatever the function does with it."""
    if value is None or isinstance(value, _UNCHANGEABLE):
        return value
    return msgspec.field(default_factory=partial(copy.deepcopy, value))


def _schema(name: str, arguments: type[msgspec.Struct]) -> dict[str, object]:
    """Return the schema of the arguments, with the types it refers to beside it."""
    try:
        document = msgspec.json.schema(arguments)
    except TypeError as exc:
        raise SetupError(f'function tool "{name}" has parameters of no JSON form: {exc}') from exc
    shared = cast("dict[str, dict[str, object]]", document["$defs"])
    schema = shared.pop(document["$ref"].rpartition("/")[2])
    schema.pop("title", None)
    return schema | ({"$defs": shared} if shared else {})


def _handler(name: str, function: Function, signature: _Signature) -> Handler:
    async def call(raw: bytes, context: FunctionContext) -> str:
        given = msgspec.structs.asdict(decode(name, raw, signature.arguments))
        if signature.context:
            given[signature.context] = context
        return _result(name, await function(**given))

    return call


def _result(name: str, returned: object) -> str:
    if isinstance(returned, str):
        return returned
    try:
        written = msgspec.json.encode(returned).decode()
        if "null" in written:  # what a number that is none becomes, too
            json.dumps(msgspec.to_builtins(returned, str_keys=True), allow_nan=False)
        return written
    except (TypeError, ValueError, RecursionError) as exc:
        raise ToolError(f'the tool "{name}" returned what has no JSON form: {exc}') from exc
