"""Tools that are a function of this process: the built-ins and whatever an embedder adds.

A specification that cannot be one tool is refused where it is built. Rules:
``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fisk_ai.toolkit.contract import Behavior, Kind
from fisk_ai.toolkit.prompter import DefaultDenyPrompter, Prompter


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """A tool a person must allow; ``summary`` words the call for them in one line."""

    tags: tuple[str, ...] = ()
    summary: Callable[[bytes], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """Where a tool may be served beside the loop."""

    mcp: bool = False
    a2a: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSpec:
    """What a function tool is made of.

    ``schema`` is a JSON schema of type object. ``trace`` words a call in one line;
    ``operator_paced`` is for a tool that asks a person and waits, which no timeout stops.
    """

    name: str
    description: str
    schema: Mapping[str, object]
    handler: Handler
    confirm: Confirm | None = None
    validate_required: bool = False
    trace: Callable[[bytes], str] | None = None
    no_defer: bool = False
    operator_paced: bool = False
    expose: Exposure = field(default_factory=Exposure)
    behavior: Behavior = field(default_factory=Behavior)
    kind: Kind = "custom"
