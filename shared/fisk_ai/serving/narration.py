"""What a served run leaves in the log: facts about it, and none of its content.

Advisories, tool calls by their short display, the size of a request, the first line of a failed
call and the stack of a crash. Never a prompt, an answer or the output of a call that succeeded.
"""

from __future__ import annotations

from fisk_ai.agent.events import (
    EventSink,
    LlmRequestEvent,
    Starting,
    ToolCallEvent,
    ToolResultEvent,
)
from fisk_ai.llm.model import Delta, Response
from fisk_ai.serving.log import bind_session, get_logger
from fisk_ai.text.sanitise import for_display
from fisk_ai.text.trim import utf8_prefix
from fisk_ai.toolkit.contract import Advisory

FAILURE_BYTES = 200
"""Room for the sentence a command fails with."""

OUTPUT_BYTES = 2048
"""Output kept in a record for debugging: a few screens, so that no call floods a log."""


def first_line(output: str) -> str:
    """Return the first line that says something, at most 200 bytes and a mark."""
    line = next((line for line in output.splitlines() if line.strip()), "")
    cut = utf8_prefix(line, FAILURE_BYTES)
    return for_display(cut if cut == line else f"{cut}...")


def _capped(output: str) -> dict[str, object]:
    cut = utf8_prefix(output, OUTPUT_BYTES)
    shown: dict[str, object] = {"output": for_display(cut)}
    return shown if cut == output else {**shown, "truncated": True}


class Narration:
    """Logs a run's events and hands them on to the channel's own sink."""

    def __init__(self, inner: EventSink, work_id: str) -> None:
        self._inner = inner
        self._log = get_logger("fisk_ai.serving").bind(work=work_id)

    async def warn(self, advisory: Advisory) -> None:
        """Log an advisory, whatever the channel does with it."""
        fields = {
            "name": advisory.name,
            "count": advisory.count,
            "params": list(advisory.params),
            "error": advisory.error,
        }
        present = {key: value for key, value in fields.items() if value}
        self._log.warning("advisory", kind=advisory.kind, **present)
        await self._inner.warn(advisory)

    async def starting(self, info: Starting) -> None:
        """Log which session the run belongs to."""
        bind_session(info.session_id)
        self._log.info("run starts", resumed=info.resumed, tools=info.tools)
        await self._inner.starting(info)

    async def llm_request(self, event: LlmRequestEvent) -> None:
        """Log that a model call begins, and how much is sent; its preview is content."""
        self._log.debug("model call", messages=event.messages, size_bytes=event.size_bytes)
        await self._inner.llm_request(event)

    async def delta(self, delta: Delta) -> None:
        """Hand on a fragment."""
        await self._inner.delta(delta)

    def wants_deltas(self) -> bool:
        """Whatever the channel wants."""
        return self._inner.wants_deltas()

    async def message(self, response: Response, *, terminal: bool) -> None:
        """Hand on a reply."""
        await self._inner.message(response, terminal=terminal)

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Log a call by name and short display."""
        self._log.info("tool call", tool=event.name, call=event.display_short)
        await self._inner.tool_call(event)

    async def tool_result(self, event: ToolResultEvent) -> None:
        """Log the first line of a failed call, and for a debugger more of what it said."""
        if event.is_error:
            self._log.warning(
                "tool call failed", call_id=event.call_id, said=first_line(event.output)
            )
            self._log.debug("tool output", call_id=event.call_id, **_capped(event.output))
        await self._inner.tool_result(event)

    async def session_rotated(self, previous: str) -> None:
        """Log which session the run left."""
        self._log.info("session rotated", previous=previous)
        await self._inner.session_rotated(previous)

    async def panicked(self, error: BaseException, stack: str) -> None:
        """Log the stack of a crash; it goes nowhere else."""
        self._log.error("the run crashed", error=type(error).__name__, stack=stack)
        await self._inner.panicked(error, stack)
