"""A run's events as the blocks of its reply set."""

from __future__ import annotations

from fisk_ai.a2a.blocks import (
    DeltaBuffer,
    blocks_of_response,
    call_block,
    iteration_block,
    result_block,
    warning_block,
)
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.agent.events import LlmRequestEvent, Starting, ToolCallEvent, ToolResultEvent
from fisk_ai.llm.model import Delta, Response
from fisk_ai.toolkit.contract import Advisory


class Narration:
    """Tells the caller of one task what its run does.

    ``started`` turns true when the run has its session: what fails before left it to others.
    """

    def __init__(self, reply_set: ReplySet) -> None:
        self.started = False
        self._reply_set = reply_set
        self._deltas = DeltaBuffer()
        self._iterations = 0

    async def warn(self, advisory: Advisory) -> None:
        """Send the advisory; its reader finds the words.

        What a tool noted beside a deferral stays here: it is for whoever runs the agent.
        """
        error = "" if advisory.kind == "tool_deferred" else advisory.error
        await self._reply_set.event(
            warning_block(
                advisory.kind,
                name=advisory.name,
                count=advisory.count,
                params=advisory.params,
                error=error,
            )
        )

    async def starting(self, info: Starting) -> None:
        """Note that the run has its session; a caller is not told."""
        self.started = True

    async def llm_request(self, event: LlmRequestEvent) -> None:
        """Forget the fragments of an earlier call; a caller is not told."""
        self._deltas.reset()

    async def delta(self, delta: Delta) -> None:
        """Gather a fragment, and send what is due."""
        block = self._deltas.add(delta, self._iterations + 1)
        if block is not None:
            await self._reply_set.event(block)

    def wants_deltas(self) -> bool:
        """Say whether the caller asked for fragments."""
        return self._reply_set.deltas

    async def message(self, response: Response, *, terminal: bool) -> None:
        """Send a reply's prose, and what its call used unless the terminal tells."""
        self._deltas.reset()
        for block in blocks_of_response(response, terminal=terminal):
            await self._reply_set.event(block)
        if not terminal:
            self._iterations += 1
            await self._reply_set.event(iteration_block(self._iterations, response.usage))

    async def tool_call(self, event: ToolCallEvent) -> None:
        """Send the call."""
        await self._reply_set.event(call_block(event.id, event.name, event.input))

    async def tool_result(self, event: ToolResultEvent) -> None:
        """Send its result."""
        await self._reply_set.event(
            result_block(event.call_id, event.output, is_error=event.is_error)
        )

    async def session_rotated(self, previous: str) -> None:
        """Send nothing: a conversation of a caller keeps its session."""

    async def panicked(self, error: BaseException, stack: str) -> None:
        """Send nothing: a stack names paths and arguments, and belongs in the log."""
