"""Tools of peer agents: which of them come in, under which names, and what a call of one is.

Names are worked out over all peers at once, so that the order in which they answer changes nothing:
where two would be alike, both bear their agent's. Rules: ``docs/reference/tools.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from fisk_ai.a2a.messages import ToolDescriptor
from fisk_ai.a2a.tool_client import call_tool
from fisk_ai.bus.connection import Connection
from fisk_ai.errors import BusError, ConfigError, PeerError, ProtocolError, ToolError
from fisk_ai.llm.tool_def import ToolDef
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.behavior import Behavior
from fisk_ai.toolkit.contract import (
    TOOL_NAME,
    Advisory,
    CallContext,
    CallInfo,
    CommandExec,
    ExecDeps,
    ToolOutcome,
)
from fisk_ai.toolkit.nesting import TOO_DEEP, is_too_deep
from fisk_ai.toolkit.selection import FilterConfig, compile_filter

LEAST_IDLE_S: Final = 30.0
"""Three of the signs of life that a peer sends while it runs a tool."""

TEXT_LIMIT: Final = 200
"""Code points of a peer's words in a warning or a line on a terminal."""

_ANY_OBJECT: Final[Mapping[str, object]] = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Caller:
    """Over which connection, and as whom, peers are called; ``idle_s`` bounds their silence."""

    connection: Connection
    identity: str
    idle_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One peer: its name, what its tools are prefixed with, and what its card showed."""

    name: str
    alias: str
    include: FilterConfig
    exclude: FilterConfig
    tools: Sequence[ToolDescriptor]


class RemoteTool:
    """One tool of a peer; its arguments are the peer's to judge."""

    mcp_exposable = False
    a2a_exposable = False

    def __init__(self, name: str, agent: str, descriptor: ToolDescriptor, caller: Caller) -> None:
        """Offer ``descriptor`` of ``agent`` as ``name``."""
        self.name = name
        self.description = self.model_description = descriptor.description
        self._agent = agent
        self._bare = descriptor.name
        self._caller = caller
        self._schema = _schema(descriptor)
        self._behavior = _behavior(descriptor)

    def input_schema(self) -> Mapping[str, object]:
        """Return the schema that the peer shows."""
        return self._schema

    def definition(self, *, defer_loading: bool) -> ToolDef:
        """Return what models are told."""
        return ToolDef(
            name=self.name,
            description=self.model_description,
            input_schema=self._schema,
            defer_loading=defer_loading,
        )

    def behavior(self) -> Behavior:
        """Return what the peer says of its effects; a contradiction is read dangerously."""
        return self._behavior

    def describe(self, raw: bytes) -> CallInfo:
        """Say that another agent answers."""
        del raw
        shown = f"{for_terminal(self._bare, TEXT_LIMIT)} on {self._agent}"
        return CallInfo(
            present="remote", kind="remote", display=shown, display_short=shown, agent=self._agent
        )

    async def execute(self, context: CallContext, raw: bytes, deps: ExecDeps) -> ToolOutcome:
        """Call the peer once; nothing is sent again.

        Raises:
            ToolError: the peer is not there, refused, fell silent, or says that the tool failed.
        """
        del context, deps
        caller = self._caller
        request = (self._bare, raw.strip() or b"{}")
        try:
            reply = await call_tool(
                caller.connection, self._agent, caller.identity, request, idle_s=caller.idle_s
            )
        except (PeerError, BusError, ProtocolError) as exc:
            raise ToolError(str(exc)) from exc
        if reply.is_error:
            retry = " (nothing ran; it may be tried again)" if reply.code == "capacity" else ""
            raise ToolError(f"{reply.output}{retry}")
        ran = reply.exec
        if ran is UNSET:
            return ToolOutcome(output=reply.output)
        executed = CommandExec(
            command=ran.command, exit_code=ran.exit_code, truncated=ran.truncated
        )
        return ToolOutcome(output=reply.output, exec=executed)


@dataclass(slots=True)
class Imported:
    """What came in, and what a person should know of what did not."""

    tools: list[RemoteTool] = field(default_factory=list[RemoteTool])
    advisories: list[Advisory] = field(default_factory=list[Advisory])


def import_tools(hosts: Sequence[Host], claimed: Collection[str], caller: Caller) -> Imported:
    """Return the tools of ``hosts`` under names that neither ``claimed`` nor one another hold.

    Raises:
        ConfigError: names that clash all the same; lists each with its agent.
    """
    imported = Imported()
    kept = [(host, tool) for host in hosts for tool in _kept(host, imported.advisories)]
    bare = Counter(tool.name for _, tool in kept)
    named = [
        (_final(host, tool.name, taken=tool.name in claimed or bare[tool.name] > 1), host, tool)
        for host, tool in kept
    ]
    final = Counter(name for name, _, _ in named)
    clashes = [
        f"{name} of {host.name}" for name, host, _ in named if name in claimed or final[name] > 1
    ]
    if clashes:
        raise ConfigError(
            f"remote_tools: tools claim names that are taken ({', '.join(clashes)}); give each"
            " agent an alias of its own",
            key="remote_tools",
        )
    imported.tools = [RemoteTool(name, host.name, tool, caller) for name, host, tool in named]
    for host in hosts:
        if not any(each is host for each, _ in kept):
            imported.advisories.append(Advisory(kind="remote_no_tools", name=host.name))
    return imported


def _final(host: Host, name: str, *, taken: bool) -> str:
    return f"{host.alias}_{name}" if taken else name


def _kept(host: Host, advisories: list[Advisory]) -> list[ToolDescriptor]:
    """Return the tools of one peer that its filters keep and that can be tools."""
    if host.include.tags:
        advisories.append(Advisory(kind="remote_tag_filter_ignored", name=host.name))
    include = compile_filter(host.include.tools, (), key="remote_tools.include.tools")
    exclude = compile_filter(host.exclude.tools, (), key="remote_tools.exclude.tools")
    kept: list[ToolDescriptor] = []
    skipped: list[str] = []
    for tool in host.tools:
        if include is not None and not include.matches(tool.name, ("",)):
            continue
        if exclude is not None and exclude.matches(tool.name, ("",)):
            continue
        fault = _fault(host, tool)
        if fault:
            skipped.append(f"{for_terminal(tool.name, TEXT_LIMIT)} ({fault})")
        else:
            kept.append(tool)
    if skipped:
        advisories.append(
            Advisory(kind="remote_tools_skipped", name=host.name, params=tuple(skipped))
        )
    return kept


def _fault(host: Host, tool: ToolDescriptor) -> str:
    """Return why a tool of a peer can be none here; empty when it can."""
    if TOOL_NAME.fullmatch(f"{host.alias}_{tool.name}") is None:
        return "invalid name"
    if not tool.description.strip():
        return "no description"
    if is_too_deep(_schema(tool)):
        return f"its schema {TOO_DEEP}"
    return ""


def _schema(tool: ToolDescriptor) -> Mapping[str, object]:
    return (
        tool.input_schema if tool.input_schema is not UNSET and tool.input_schema else _ANY_OBJECT
    )


def _behavior(tool: ToolDescriptor) -> Behavior:
    hints = tool.behavior
    if hints is UNSET:
        return Behavior()
    said = {name: getattr(hints, name) for name in hints.__struct_fields__}
    told = {name: value for name, value in said.items() if value is not UNSET}
    return Behavior.from_json(told).resolve()
