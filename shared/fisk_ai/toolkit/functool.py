"""Tools that are a function of this process: the built-ins and whatever an embedder adds.

A specification that cannot be one tool is refused where it is built, and what it was built from may
change afterwards without a trace. Rules: ``docs/reference/tools.md``; how to write one:
``docs/reference/embedding.md``.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from fisk_ai.errors import SetupError, ToolError
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.text import sanitise, words
from fisk_ai.toolkit import arguments, tags
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.contract import (
    TOOL_NAME,
    CallContext,
    CallInfo,
    ExecDeps,
    Kind,
    ToolOutcome,
)
from fisk_ai.toolkit.inputs import normalised
from fisk_ai.toolkit.nesting import TOO_DEEP, is_too_deep
from fisk_ai.toolkit.prompter import DefaultDenyPrompter, Prompter

WORDING_LIMIT = 500
"""Code points of a call as its author words it: one glance."""

ARGUMENTS_LIMIT = 1_900
"""Code points of a call nobody worded: a question has 2000, and the gate needs a few itself."""

OWN_KINDS: tuple[Kind, ...] = ("custom", "builtin")
"""Who may answer for a function; a command and another party's tool are made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """What a handler is given beside its input.

    ``tool_use_id`` names the call, for questions and deferrals; it is empty where a tool is called
    outside a run.
    """

    tool_use_id: str = ""
    call_ref: str = ""
    work_dir: Path | None = None
    prompter: Prompter = field(default_factory=DefaultDenyPrompter)


Handler = Callable[[bytes, FunctionContext], Awaitable[str]]
"""Gets the JSON text of the arguments (``{}`` for none) and returns what the model reads.

It raises :class:`~fisk_ai.errors.ToolError` for a failure,
:class:`~fisk_ai.errors.DeferredError` for an answer that comes later. What was "not found" or
"declined" is a result, not an error.
"""

Wording = Callable[[bytes], str]
"""Says a call in one line; the line is cleaned and cut by whoever shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """A tool a person must allow; ``summary`` words the call for them in one line.

    Without a summary, and without a trace, they read the name and the arguments.
    """

    tags: tuple[str, ...] = ()
    summary: Wording | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Where a tool may be served beside the loop."""

    mcp: bool = False
    a2a: bool = False

    def __bool__(self) -> bool:
        """Say whether it may be served anywhere."""
        return self.mcp or self.a2a


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """What a function tool is made of.

    ``schema`` is a JSON schema of type object. ``validate_required`` has the arguments it requires
    looked for before a person is asked. ``trace`` words a call in one line; ``operator_paced`` is
    for a tool that asks a person and waits, which no timeout stops.
    """

    name: str
    description: str
    schema: Mapping[str, object]
    handler: Handler
    confirm: Confirm | None = None
    validate_required: bool = False
    trace: Wording | None = None
    no_defer: bool = False
    operator_paced: bool = False
    expose: Exposure = field(default_factory=Exposure)
    behavior: Behavior = field(default_factory=Behavior)
    kind: Kind = "custom"


class FunctionTool:
    """One function as a tool, with every optional ability of the contract."""

    def __init__(self, spec: FunctionSpec) -> None:
        """Build the tool.

        Raises:
            SetupError: the specification cannot be one tool; names it and the field.
        """
        _check(spec)
        self.name = spec.name
        self.description = spec.description
        self.model_description = _for_models(spec)
        self.mcp_exposable = spec.expose.mcp
        self.a2a_exposable = spec.expose.a2a
        self._spec = spec
        self._schema = _own_copy(spec)
        self._tags = _tags(spec.confirm)
        if spec.validate_required and not arguments.required_of(self._schema):
            raise _refused(spec, "validates required arguments and its schema requires none")

    def input_schema(self) -> Mapping[str, object]:
        """Return the schema it was built with."""
        return self._schema

    def definition(self, *, defer_loading: bool) -> ToolDef:
        """Return what models are told; ``no_defer`` keeps it in front."""
        return ToolDef(
            name=self.name,
            description=self.model_description,
            input_schema=self._schema,
            defer_loading=defer_loading and not self._spec.no_defer,
        )

    def tags(self) -> tuple[str, ...]:
        """Return ``ai:confirm`` and its other tags when it is gated, else none."""
        return self._tags

    def behavior(self) -> Behavior:
        """Return what its author declared."""
        return self._spec.behavior

    def needs_confirm(self, extra_tags: Sequence[str]) -> bool:
        """Say whether a person must allow it, which its author alone decides."""
        return bool(self._tags)

    def confirm_trigger(self, extra_tags: Sequence[str]) -> str:
        """Return ``ai:confirm`` when it is gated, else nothing."""
        return tags.confirm_trigger(self._tags, extra_tags)

    def command(self) -> str:
        """Return its name."""
        return self.name

    def trace_line(self, raw: bytes) -> str:
        """Return the call as its summary words it, else as its trace does, else nothing."""
        given = normalised(raw)
        confirm, trace = self._spec.confirm, self._spec.trace
        summary = _worded(confirm.summary, given) if confirm is not None else ""
        return summary or _worded(trace, given)

    def describe(self, raw: bytes) -> CallInfo:
        """Describe one call: traced when its author words it, else shown by itself."""
        return CallInfo(
            present="traced" if self._spec.trace is not None else "self_rendered",
            kind=self._spec.kind,
            display=self.trace_line(raw) or self._with_arguments(raw),
            display_short=_worded(self._spec.trace, normalised(raw)),
            needs_prompter=True,
            needs_work_dir=True,
            operator_paced=self._spec.operator_paced,
        )

    def missing_required(self, raw: bytes) -> list[str]:
        """Return the required arguments the call lacks, where its author wants them checked."""
        if not self._spec.validate_required:
            return []
        return arguments.missing_required(self._schema, raw)

    def missing_required_message(self, names: Sequence[str]) -> str:
        """Return one text that names what is missing and all the tool takes."""
        return arguments.missing_message(self.name, self._schema, names)

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        """Call the function; what it returns is what the model reads.

        Raises:
            ToolError: the function is not async. Whatever it raises is passed on.
        """
        given = FunctionContext(
            tool_use_id=context.tool_use_id,
            call_ref=context.call_ref,
            work_dir=deps.work_dir,
            prompter=deps.prompter,
        )
        returned = cast("object", self._spec.handler(normalised(raw), given))
        if not isinstance(returned, Awaitable):
            raise ToolError(f'the handler of the tool "{self.name}" is no async function')
        return ToolOutcome(output=await cast("Awaitable[str]", returned))

    def _with_arguments(self, raw: bytes) -> str:
        """Return what a person decides on when nobody worded the call."""
        if self._spec.confirm is None:
            return ""
        given = normalised(raw).decode(errors="replace")
        return f"{self.name} {words.elided(given, ARGUMENTS_LIMIT - len(self.name) - 1)}"


def _check(spec: FunctionSpec) -> None:
    if not spec.name:
        raise SetupError("a function tool has no name; give it one")
    if TOOL_NAME.fullmatch(spec.name) is None:
        raise _refused(spec, "has a name that model providers refuse (1 to 128 of A-Z a-z 0-9 _ -)")
    if not spec.description.strip():
        raise _refused(spec, "has no description; say what it does and when to use it")
    if not callable(spec.handler):
        raise _refused(spec, "has no handler")
    if spec.kind not in OWN_KINDS:
        raise _refused(spec, f"is of kind {spec.kind}; a function is custom or builtin")
    if spec.behavior.contradicts_itself:
        raise _refused(spec, "is declared read-only and destructive; it is one of them")
    if spec.confirm is not None and spec.expose and spec.kind != "builtin":
        raise _refused(
            spec, "needs a person's word and may be served to others; no operator chose that"
        )


def _own_copy(spec: FunctionSpec) -> dict[str, object]:
    """Return the schema as nobody else holds it, checked to be JSON."""
    if spec.schema.get("type") != "object":
        raise _refused(spec, 'has no schema of type object; write {"type": "object", ...}')
    try:
        own: dict[str, object] = json.loads(json.dumps(dict(spec.schema), allow_nan=False))
    except RecursionError as exc:
        raise _refused(spec, f"has a schema that {TOO_DEEP}") from exc
    except (TypeError, ValueError) as exc:
        raise _refused(spec, f"has a schema that is no JSON: {exc}") from exc
    if is_too_deep(own):
        raise _refused(spec, f"has a schema that {TOO_DEEP}")
    return own


def _refused(spec: FunctionSpec, why: str) -> SetupError:
    return SetupError(f'function tool "{spec.name}" {why}')


def _for_models(spec: FunctionSpec) -> str:
    declared = spec.behavior.words()
    return f"{spec.description}\n\nBehavior: {declared}" if declared else spec.description


def _tags(confirm: Confirm | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((tags.CONFIRM, *confirm.tags))) if confirm is not None else ()


def _worded(wording: Wording | None, raw: bytes) -> str:
    if wording is None:
        return ""
    try:
        line = cast("object", wording(raw))
    except BaseException:  # noqa: BLE001 - an author's words decide no call; its arguments are shown
        return ""
    return sanitise.for_terminal(line, WORDING_LIMIT) if isinstance(line, str) else ""
