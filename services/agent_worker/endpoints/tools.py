"""Single tools for peer agents: what is served, who is let in, and what becomes of a call.

A call is taken or refused at once and never waits. Nobody can be asked and nothing is journaled, so
a tool that needs a person is not there, and one that would answer later is refused.
Rules: ``docs/reference/a2a.md``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import UNSET, UnsetType

from agent_worker.requests import read_only
from fisk_ai.a2a import subjects
from fisk_ai.a2a.messages import (
    FINAL_HEADER,
    NAMESPACE,
    Ack,
    BehaviorHints,
    EventMessage,
    ExecMetadata,
    HeaderFields,
    StatusBlockEvent,
    ToolDescriptor,
    ToolReply,
    ToolRequest,
    reply_header,
)
from fisk_ai.a2a.numbering import Numbering
from fisk_ai.agent import foreign_tools
from fisk_ai.agent.apart import COMMAND_GRACE_S, OutOfTimeError, StrayError
from fisk_ai.bus.messages import Inbound
from fisk_ai.bus.service import Service
from fisk_ai.config import Config
from fisk_ai.errors import (
    BusError,
    DeferredError,
    FiskError,
    MessageTooLargeError,
    PromptAbortedError,
    ProtocolError,
)
from fisk_ai.serving.cpus import available_cpus
from fisk_ai.text.duration import go_duration
from fisk_ai.text.sanitise import clean_surrogates
from fisk_ai.toolkit.bounds import bounded
from fisk_ai.toolkit.contract import (
    ArgumentValidator,
    BehaviorDescriber,
    CallContext,
    Confirmable,
    ExecDeps,
    Tool,
    ToolOutcome,
)
from fisk_ai.toolkit.selection import select

_log = logging.getLogger("agent_worker.tools")

KEEPALIVE_S: Final = 10.0
"""Between two signs that a call is running; a peer waits three of them."""

CAPACITY: Final = "capacity"
_WANTED: Final = f"{NAMESPACE}.tool.request"
_FEWEST, _MOST = 2, 8
"""Calls at once where the configuration names no number, whatever the machine has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How calls are served: as whom, how many at once, how long each, and where they run."""

    identity: str
    slots: int
    timeout_s: float
    work_dir: Path | None = None
    keepalive_s: float = KEEPALIVE_S


def terms_of(config: Config, work_dir: Path | None = None) -> Terms:
    """Return the terms that a configuration with ``serve_tools`` sets."""
    a2a = config.expose.agent.a2a
    written = a2a.max_concurrent_tools if a2a is not None else 0
    return Terms(
        identity=config.identity,
        slots=written or min(max(available_cpus(), _FEWEST), _MOST),
        timeout_s=a2a.tool_timeout_s if a2a is not None else KEEPALIVE_S,
        work_dir=work_dir,
    )


def exposed(config: Config, tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """Return the tools that peers are shown; any other is absent and unknown to them."""
    selection = select(config.expose.agent.tools)
    return tuple(
        tool
        for tool in tools
        if tool.a2a_exposable
        and isinstance(tool, Confirmable)
        and not tool.needs_confirm(config.harness.confirm_tags)
        and tool.model_description
        and selection.keeps_tool(tool)
    )


def descriptors(tools: Sequence[Tool]) -> tuple[ToolDescriptor, ...]:
    """Return what a card says of tools, in their order."""
    return tuple(
        ToolDescriptor(
            name=tool.name,
            description=tool.model_description,
            input_schema=dict(tool.input_schema()),
            behavior=_hints(tool),
        )
        for tool in tools
    )


class ToolsEndpoint:
    """Serves single calls; a service of the server."""

    def __init__(self, tools: Sequence[Tool], terms: Terms) -> None:
        """Serve ``tools`` on ``terms``."""
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._terms = terms
        self._free = terms.slots
        self._running: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The label in logs."""
        return "a2a"

    @property
    def heading(self) -> str:
        """What it does."""
        return "Serving tools over a2a"

    def describe(self) -> Mapping[str, object]:
        """Return where it is reached, on which terms, and what is lent."""
        return {
            "Discovery": subjects.discovery(self._terms.identity),
            "Tools": subjects.tool(self._terms.identity),
            "Concurrency": self._terms.slots,
            "Tool Timeout": go_duration(self._terms.timeout_s),
            "Exposed": list(self._tools),
        }

    async def start(self, service: Service) -> None:
        """Register the endpoint.

        Raises:
            BusError: the broker did not take it.
        """
        subject = subjects.tool(self._terms.identity)
        await service.add_endpoint("tool", subject, self._take)

    async def close(self) -> None:
        """Leave calls under way to themselves: they are short, and nothing of them is journaled."""

    async def _take(self, inbound: Inbound) -> None:
        message = await read_only(inbound, ToolRequest, _WANTED)
        if message is None:
            return
        call = _Call(inbound, message, self._terms)
        tool = self._tools.get(message.name)
        if tool is None:
            await call.refuse(f'tool "{message.name}" is not available')
            return
        if not self._free:
            await call.refuse(
                f'tool "{message.name}" on agent "{self._terms.identity}" did not run: the agent is'
                f" already running its maximum of {self._terms.slots} concurrent tool calls",
                code=CAPACITY,
            )
            return
        self._free -= 1
        if not await call.accept():
            self._free += 1
            return
        task = asyncio.create_task(call.run(tool), name=f"serve the tool {tool.name}")
        self._running.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free += 1
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a served call failed", exc_info=error)


class _Call:
    """One call and its reply set."""

    def __init__(self, inbound: Inbound, request: ToolRequest, terms: Terms) -> None:
        self._request = request
        self._terms = terms
        self._numbering = Numbering(lambda body, headers: inbound.respond(body, headers or None))

    async def refuse(self, text: str, *, code: str = "") -> None:
        """Say that nothing ran."""
        try:
            await self._numbering.send(self._ack(accepted=False, reason=text))
            await self._last(ToolReply(**self._header(), is_error=True, output=text, code=code))
        except (BusError, ProtocolError) as exc:
            _log.warning("a refusal could not be sent: %s", exc)

    async def accept(self) -> bool:
        """Say that the call is taken; ``False`` when that did not go out, and nothing may run."""
        try:
            await self._numbering.send(self._ack(accepted=True))
        except (BusError, ProtocolError) as exc:
            _log.warning("an ack could not be sent, so nothing runs: %s", exc)
            return False
        return True

    async def run(self, tool: Tool) -> None:
        """Run the tool and send what came of it, with signs of life meanwhile."""
        alive = asyncio.create_task(self._keep_alive(), name="keep a call alive")
        try:
            reply = await self._outcome(tool)
        finally:
            alive.cancel()
            await asyncio.wait({alive})
        try:
            await self._last(reply)
        except (BusError, ProtocolError) as exc:
            _log.warning("the reply of tool %s could not be sent: %s", tool.name, exc)

    async def _outcome(self, tool: Tool) -> ToolReply:
        raw = self._request.arguments
        if isinstance(tool, ArgumentValidator) and (missing := tool.missing_required(raw)):
            return self._failed(tool.missing_required_message(missing))
        deps = ExecDeps(work_dir=self._terms.work_dir)
        try:
            outcome = await foreign_tools.call(
                tool,
                raw,
                CallContext(),
                deps=deps,
                limit_s=self._terms.timeout_s,
                grace_s=COMMAND_GRACE_S,
            )
        except Exception as exc:  # noqa: BLE001 - whatever a tool raises is its answer
            return self._failed(self._worded(tool.name, exc))
        return self._returned(outcome)

    def _worded(self, name: str, error: Exception) -> str:
        match error:
            case OutOfTimeError():
                span = go_duration(self._terms.timeout_s)
                return f'the tool "{name}" did not finish within {span}'
            case DeferredError() | PromptAbortedError():
                return f'the tool "{name}" needs a person, who cannot be asked here'
            case StrayError():
                return f'the tool "{name}" {error} and returned nothing'
            case FiskError():
                return str(error)
            case _:
                _log.error("the tool %s failed", name, exc_info=error)
                return f'the tool "{name}" failed: {type(error).__name__}'

    def _returned(self, outcome: ToolOutcome) -> ToolReply:
        ran = outcome.exec
        return ToolReply(
            **self._header(),
            output=bounded(clean_surrogates(outcome.output)),
            exec=UNSET
            if ran is None
            else ExecMetadata(
                command=clean_surrogates(ran.command),
                exit_code=ran.exit_code,
                truncated=ran.truncated,
            ),
        )

    def _failed(self, text: str) -> ToolReply:
        return ToolReply(**self._header(), is_error=True, output=bounded(clean_surrogates(text)))

    async def _last(self, reply: ToolReply) -> None:
        """Send the terminal, or where it fits no message that it does not."""
        try:
            await self._numbering.send(reply, {FINAL_HEADER: "true"})
        except MessageTooLargeError as exc:
            text = f"the output is too large for one message ({exc.room_bytes} bytes are taken)"
            await self._numbering.send(self._failed(text), {FINAL_HEADER: "true"})

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(self._terms.keepalive_s)
            block = StatusBlockEvent(phase="running-tool")
            try:
                await self._numbering.send(EventMessage(**self._header(), block=block))
            except (BusError, ProtocolError) as exc:
                _log.warning("a keepalive could not be sent: %s", exc)
                return

    def _ack(self, *, accepted: bool, reason: str = "") -> Ack:
        return Ack(**self._header(), accepted=accepted, reason=reason)

    def _header(self) -> HeaderFields:
        return reply_header(self._request, self._terms.identity)


def _hints(tool: Tool) -> BehaviorHints | UnsetType:
    hints = tool.behavior().resolve().to_json() if isinstance(tool, BehaviorDescriber) else {}
    return BehaviorHints(**hints) if hints else UNSET
