"""A command of the wrapped application as a tool: described, gated by its tags, and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fisk_ai.errors import ToolError
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.text.ring import RingBuffer
from fisk_ai.toolkit import arguments, tags
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.contract import (
    CallContext,
    CallInfo,
    CommandExec,
    ExecDeps,
    ToolOutcome,
)
from fisk_ai.toolkit.environment import child_environment
from fisk_ai.toolkit.fisk import argv, display
from fisk_ai.toolkit.fisk.document import Flag
from fisk_ai.toolkit.fisk.globals import merged_schema
from fisk_ai.toolkit.fisk.tree import Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where commands run: which program, with which environment, in which directory.

    ``directory`` is used where a call brings none of its own; ``None`` is this process's own.
    """

    program: Path
    environ: Mapping[str, str]
    directory: Path | None = None


class CommandTool:
    """One leaf command. Every optional ability of a tool is answered from its document."""

    mcp_exposable = True
    a2a_exposable = True

    def __init__(self, leaf: Leaf, global_flags: Sequence[Flag], host: Host) -> None:
        """Build the tool; ``global_flags`` are those this very leaf offers."""
        self.name = leaf.tool_name
        self.description = leaf.description
        self.model_description = leaf.model_description
        self._tags = leaf.tags
        self._host = host
        self._leaf = leaf
        self._global_flags = tuple(global_flags)
        self._schema = merged_schema(leaf.schema, global_flags)

    @cached_property
    def _syntax(self) -> argv.Syntax:
        """What calls are rendered by; most tools of a run are never called."""
        unnamed = _unnamed(self._leaf)
        return argv.Syntax(
            path=self._leaf.path,
            global_flags=self._global_flags,
            flags=_reachable(self._leaf, unnamed),
            args=self._leaf.args,
            advertised=frozenset(arguments.properties_of(self._schema)),
            unnamed=unnamed,
        )

    def input_schema(self) -> Mapping[str, object]:
        """Return the application's schema with the globals this tool offers."""
        return self._schema

    def definition(self, *, defer_loading: bool) -> ToolDef:
        """Return what models are told; ``ai:no_defer`` keeps a tool in front."""
        return ToolDef(
            name=self.name,
            description=self.model_description,
            input_schema=self._schema,
            defer_loading=defer_loading and tags.NO_DEFER not in self._tags,
        )

    def tags(self) -> tuple[str, ...]:
        """Return the author's tags in their order."""
        return self._tags

    def behavior(self) -> Behavior:
        """Return what the tags say of its effects."""
        return tags.behavior_of(self._tags)

    def needs_confirm(self, extra_tags: Sequence[str]) -> bool:
        """Say whether a person must allow it."""
        return bool(self.confirm_trigger(extra_tags))

    def confirm_trigger(self, extra_tags: Sequence[str]) -> str:
        """Return the tag that gates it, empty when none does."""
        return tags.confirm_trigger(self._tags, extra_tags)

    def command(self) -> str:
        """Return the command path in words."""
        return self._leaf.command

    def trace_line(self, raw: bytes) -> str:
        """Return the exact command line for a person; the path alone when there is none."""
        return display.full(self._line_or_path(raw))

    def command_line(self, raw: bytes) -> str:
        """Return the words of one call joined by blanks, as the envelope has them.

        Raises:
            ToolError: the arguments form no command line.
        """
        return " ".join(self._line(raw).words)

    def describe(self, raw: bytes) -> CallInfo:
        """Describe one call: a command of the application, which may run in a directory."""
        return CallInfo(
            present="command",
            kind="application",
            display=self.trace_line(raw),
            display_short=display.short(self._line_or_path(raw)),
            needs_work_dir=True,
        )

    def missing_required(self, raw: bytes) -> list[str]:
        """Return the required arguments the call lacks, in schema order."""
        return arguments.missing_required(self._schema, raw)

    def missing_required_message(self, names: Sequence[str]) -> str:
        """Return one text that names what is missing and all the command takes."""
        return arguments.missing_message(self.name, self._schema, names)

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        """Run the command; any exit status is an answer.

        Raises:
            ToolError: the arguments form no command line, the program cannot be started, or its
                output was lost because another process kept it open.
        """
        from fisk_ai.toolkit.fisk import process  # noqa: PLC0415 - listing tools needs no event loop

        words = self._line(raw).words
        output = RingBuffer()
        ended = await process.run(
            [str(self._host.program), *words],
            environ=child_environment(
                self._host.environ, work_dir=deps.work_dir, call_ref=context.call_ref
            ),
            directory=deps.work_dir or self._host.directory,
            sink=output.write,
        )
        if not ended.drained and ended.code == 0:
            raise ToolError(
                f'"{self.command()}" ended but a process it started kept its output open; '
                "the output is lost"
            )
        kept, truncated = output.render()
        return ToolOutcome(
            output=kept.decode(errors="replace"),
            exec=CommandExec(command=" ".join(words), exit_code=ended.code, truncated=truncated),
        )

    def _line(self, raw: bytes) -> argv.Line:
        try:
            given = arguments.decode(raw)
        except ToolError as exc:
            raise ToolError(f'building command line for "{self.command()}": {exc}') from exc
        return argv.render(self._syntax, given)

    def _line_or_path(self, raw: bytes) -> argv.Line:
        try:
            return self._line(raw)
        except ToolError:
            return argv.Line(path=self._leaf.path, flags=(), positionals=())


def _unnamed(leaf: Leaf) -> frozenset[str]:
    """Return the hidden arguments that no key can mean: a flag the schema shows has the name."""
    shown = {flag.name for flag in leaf.flags if not flag.hidden}
    return frozenset(arg.name for arg in leaf.args if arg.hidden and arg.name in shown)


def _reachable(leaf: Leaf, unnamed: frozenset[str]) -> tuple[Flag, ...]:
    """Return the flags a key can mean: one named like an argument would be given by it, too."""
    positional = {arg.name for arg in leaf.args} - unnamed
    return tuple(flag for flag in leaf.flags if flag.name not in positional)
