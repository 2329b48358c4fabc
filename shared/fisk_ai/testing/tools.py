"""A tool that does what a test says and remembers its calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.text import gojson
from fisk_ai.toolkit import tags as meaning
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.contract import (
    CallContext,
    CallInfo,
    ExecDeps,
    Kind,
    ToolOutcome,
)

Effect = Callable[[bytes], Awaitable[str]]
"""What a call does with the JSON text of its arguments; the text it returns is the result."""


@dataclass(kw_only=True)
class FakeTool:
    """Implements every ability of a tool; gated and described by its tags, like a command."""

    name: str
    output: str = "done"
    own_tags: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    kind: Kind = "custom"
    operator_paced: bool = False
    effect: Effect | None = None
    calls: list[bytes] = field(default_factory=list[bytes])
    contexts: list[CallContext] = field(default_factory=list[CallContext])
    description: str = "a tool of a test"
    mcp_exposable: bool = False
    a2a_exposable: bool = False

    @property
    def model_description(self) -> str:
        """Say the same to models."""
        return self.description

    def input_schema(self) -> Mapping[str, object]:
        """Return an object schema with the required names."""
        properties = {name: {"type": "string"} for name in self.required}
        return {"type": "object", "properties": properties, "required": list(self.required)}

    def definition(self, *, defer_loading: bool) -> ToolDef:
        """Return what models are told."""
        return ToolDef(self.name, self.description, self.input_schema(), defer_loading)

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        """Keep the call, then do as told."""
        self.calls.append(raw)
        self.contexts.append(context)
        output = await self.effect(raw) if self.effect is not None else self.output
        return ToolOutcome(output=output)

    def describe(self, raw: bytes) -> CallInfo:
        """Describe the call by its name and arguments."""
        return CallInfo(
            present="traced",
            kind=self.kind,
            display=self.trace_line(raw),
            display_short=self.name,
            operator_paced=self.operator_paced,
        )

    def needs_confirm(self, extra_tags: Sequence[str]) -> bool:
        """Say whether a tag gates it."""
        return bool(self.confirm_trigger(extra_tags))

    def confirm_trigger(self, extra_tags: Sequence[str]) -> str:
        """Return the tag that gates it."""
        return meaning.confirm_trigger(self.own_tags, extra_tags)

    def command(self) -> str:
        """Return its name as words."""
        return self.name.replace("_", " ")

    def trace_line(self, raw: bytes) -> str:
        """Return the name and the arguments."""
        return f"{self.name} {raw.decode()}"

    def missing_required(self, raw: bytes) -> list[str]:
        """Return the required names that ``raw`` lacks."""
        given = gojson.loads(raw)
        return [name for name in self.required if isinstance(given, dict) and name not in given]

    def missing_required_message(self, names: Sequence[str]) -> str:
        """Return a text that names them."""
        return f'"{self.name}" lacks: {", ".join(names)}'

    def behavior(self) -> Behavior:
        """Return what its tags say."""
        return meaning.behavior_of(self.own_tags)

    def tags(self) -> tuple[str, ...]:
        """Return its tags."""
        return self.own_tags
