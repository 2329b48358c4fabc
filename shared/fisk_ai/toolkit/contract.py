"""The contract of a tool: what every kind must answer, and what some can say besides.

Optional abilities are narrow protocols recognised with ``isinstance``; a tool without one is
treated as the table in ``docs/reference/tools.md`` says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.prompter import DefaultDenyPrompter, Prompter

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What model providers accept; one name beyond it makes them refuse every call of a run."""

Kind = Literal["unknown", "application", "builtin", "remote", "custom", "mcp"]
"""Who answers for a call: counted, logged, journaled."""

Presentation = Literal["command", "remote", "self_rendered", "traced"]
"""How a call is shown; never derived from its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInfo:
    """What a tool says of one call before it runs; both display texts are already sanitised."""

    present: Presentation = "command"
    kind: Kind = "unknown"
    display: str = ""
    display_short: str = ""
    agent: str = ""
    needs_prompter: bool = False
    needs_work_dir: bool = False
    operator_paced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandExec:
    """A command ran: its line, its status (-1 when a signal ended it), whether output was cut."""

    command: str
    exit_code: int
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a call returned; the presence of ``exec`` says that a command ran."""

    output: str
    exec: CommandExec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecDeps:
    """What a call was handed, because its description asked for it."""

    prompter: Prompter = field(default_factory=DefaultDenyPrompter)
    work_dir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """Which call this is; ``call_ref`` is ``<session>/<tool_use_id>``, empty without a session."""

    call_ref: str = ""
    tool_use_id: str = ""


@runtime_checkable
class Tool(Protocol):
    """One callable thing under one name; immutable once built."""

    @property
    def name(self) -> str:
        """The name models call it by, unique in a run."""
        ...

    @property
    def description(self) -> str:
        """Plain help for people."""
        ...

    @property
    def model_description(self) -> str:
        """What models and peers are told; may add tags and behaviour."""
        ...

    @property
    def mcp_exposable(self) -> bool:
        """Whether this tool may ever be served over MCP."""
        ...

    @property
    def a2a_exposable(self) -> bool:
        """Whether this tool may ever be served to peer agents."""
        ...

    def input_schema(self) -> Mapping[str, object]:
        """Return the JSON schema of its arguments; never to be changed in place."""
        ...

    def definition(self, *, defer_loading: bool) -> ToolDef:
        """Return what is sent to the model; a tool may refuse to be deferred."""
        ...

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        """Run one call with the JSON text of its arguments; cancelling the task stops it.

        Raises:
            ToolError: the harness could not run it. A command's exit status is no error.
            DeferredError: the answer comes later.
            PromptAbortedError: a person's question was interrupted.
        """
        ...


@runtime_checkable
class Describer(Protocol):
    """Can say what a call is; pure, called before hooks and execution."""

    def describe(self, raw: bytes) -> CallInfo:
        """Describe one call; never raises, whatever the arguments are."""
        ...


@runtime_checkable
class Confirmable(Protocol):
    """Can say whether a person must allow it; what cannot is never served to peers."""

    def needs_confirm(self, extra_tags: Sequence[str]) -> bool:
        """Say whether this tool is gated, given the operator's ``confirm_tags``."""
        ...

    def confirm_trigger(self, extra_tags: Sequence[str]) -> str:
        """Return the tag that gates it, empty when none does."""
        ...

    def command(self) -> str:
        """Return the command in words, as a person knows it."""
        ...

    def trace_line(self, raw: bytes) -> str:
        """Return the whole call in one sanitised line of at most 2000 code points."""
        ...


@runtime_checkable
class ArgumentValidator(Protocol):
    """Can say which required arguments a call lacks."""

    def missing_required(self, raw: bytes) -> list[str]:
        """Return missing names in schema order; nothing for input that is no object."""
        ...

    def missing_required_message(self, names: Sequence[str]) -> str:
        """Return one text with which a model can mend the call in one turn."""
        ...


@runtime_checkable
class BehaviorDescriber(Protocol):
    """Can say what it does to the world."""

    def behavior(self) -> Behavior:
        """Return its behaviour, constant for a tool."""
        ...


@runtime_checkable
class Tagged(Protocol):
    """Carries its author's tags."""

    def tags(self) -> tuple[str, ...]:
        """Return them in author order."""
        ...


@runtime_checkable
class CommandLineRenderer(Protocol):
    """Can write a call down as the command line that would run, for those it is served to."""

    def command_line(self, raw: bytes) -> str:
        """Return the words joined by blanks, neither quoted nor sanitised.

        Raises:
            ToolError: the arguments form no command line; :meth:`Confirmable.trace_line` is shown
                in its place.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A fact about a run for a person; whoever shows it finds the words.

    ``kind`` is one of the names in ``docs/reference/warnings.md``.
    """

    kind: str
    count: int = 0
    name: str = ""
    params: tuple[str, ...] = ()
    error: str = ""
