"""One exchange with the agent: its events on the screen, its questions to the person, its end.

A worker or a broker that dies is noticed by its process, not by the silence that follows; a broker
that hangs, by beats of its own.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import UNSET, UnsetType

from fisk_ai.a2a.client import AgentClient, Given, IncompleteTaskError, TaskEnd
from fisk_ai.a2a.messages import (
    Ack,
    Answer,
    AnyQuestion,
    AnyRequest,
    ElicitRequestApprove,
    ElicitRequestConfirm,
    ElicitRequestSelect,
    ErrorTerminal,
    EventBlock,
    StatusBlockEvent,
    TextBlockEvent,
    ToolCallBlockEvent,
    UsageCounts,
    WarningBlockEvent,
)
from fisk_ai.bus import signals
from fisk_ai.bus.heartbeat import SILENCE_S
from fisk_ai.cli.agent import Death
from fisk_ai.cli.endings import BROKEN_OFF, CRASHED, INCOMPLETE, KILLED
from fisk_ai.errors import FiskError, PeerError, PromptAbortedError
from fisk_ai.render.events import show
from fisk_ai.render.line import LineView
from fisk_ai.render.summary import Totals
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.prompter import GateRequest, Prompter

TERMINAL_GRACE_S = 1.0
"""How long a terminal that was under way when the worker died may take to arrive."""

REASON_LIMIT = 200
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""Signals that no bug of the worker raises: somebody, or the system short of memory, sent them."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How an exchange ended; an empty ``code`` says that it has a result.

    ``kind`` is the ending to say where it is finer than the protocol's code.
    """

    code: str = ""
    kind: str = ""
    detail: str = ""
    text: str = ""
    usage: UsageCounts | UnsetType = UNSET
    trace_id: str = ""
    exported: bool = False
    unsent: tuple[Answer, ...] = ()


@dataclass(slots=True, kw_only=True)
class Turn:
    """The handlers of one turn's tasks; counts what it sees, for the summary.

    ``token`` and ``bound`` are the conversation's; ``stopped`` says that a person asked the agent
    to stop this turn. ``whole`` returns the command that shows all of the conversation of a token,
    empty where there is none.
    """

    view: LineView
    prompter: Prompter
    whole: Callable[[str], str] | None = None
    token: str = ""
    bound: int = 0
    stopped: bool = False
    llm_calls: int = 0
    tool_calls: int = 0
    _answered: bool = field(default=False)
    _replaying: bool = field(default=False)
    _undecided: bool = field(default=False)

    def following(self) -> Turn:
        """Return the handlers of the same conversation's next turn."""
        return Turn(
            view=self.view,
            prompter=self.prompter,
            whole=self.whole,
            token=self.token,
            bound=self.bound,
        )

    async def on_ack(self, ack: Ack) -> None:
        """Keep the conversation's token and its bound."""
        self.token = ack.conversation_token or self.token
        self.bound = ack.max_tokens or self.bound

    async def on_event(self, block: EventBlock) -> None:
        """Count and show one block."""
        self._count(block)
        if not self._is_known(block):
            show(self.view, block)

    async def on_gap(self, missed: int) -> None:
        """Say that something of the reply set never came, and where all of it stands."""
        plural = "message" if missed == 1 else "messages"
        command = self.whole(self.token) if self.whole is not None and self.token else ""
        place = f"; all of it: {command}" if command else ""
        self.view.warn(
            f"{missed} {plural} of the run never arrived; what is shown is incomplete{place}"
        )

    async def on_question(self, question: AnyQuestion) -> Given:
        """Put a question to the person; ``None`` when nobody decided."""
        if not self.prompter.can_prompt():
            return None
        self._undecided = False
        try:
            return await _ask(self.prompter, question)
        except PromptAbortedError:
            self._undecided = isinstance(question, ElicitRequestApprove)
            return None
        except FiskError as exc:
            why = for_terminal(str(exc), REASON_LIMIT)
            self.view.warn(f"answering the run's question failed: {why}")
            return None

    @property
    def saw_work(self) -> bool:
        """Whether this turn, not the history before it, did anything."""
        return self.llm_calls > 0 or self.tool_calls > 0

    def totals(self, usage: UsageCounts | UnsetType) -> Totals:
        """Return the counters of ``usage``, and those seen here where it has none."""
        if usage is UNSET:
            return Totals(llm_calls=self.llm_calls, tool_calls=self.tool_calls)
        return Totals(
            input=usage.input_tokens,
            output=usage.output_tokens,
            cache_read=usage.cache_read_tokens,
            cache_create=usage.cache_create_tokens,
            thinking=usage.thinking_tokens,
            llm_calls=usage.llm_calls or self.llm_calls,
            tool_calls=usage.tool_calls or self.tool_calls,
        )

    def _is_known(self, block: EventBlock) -> bool:
        """Say whether this is the refusal that whoever left its question was just told of."""
        if not isinstance(block, WarningBlockEvent) or block.kind != "confirm_denied":
            return False
        known, self._undecided = self._undecided, False
        return known

    def _count(self, block: EventBlock) -> None:
        if isinstance(block, StatusBlockEvent):
            self._count_status(block)
        elif self._replaying:
            return
        elif isinstance(block, ToolCallBlockEvent):
            self.tool_calls += 1
        elif isinstance(block, TextBlockEvent) and block.final and not self._answered:
            self._answered = True
            self.llm_calls += 1

    def _count_status(self, block: StatusBlockEvent) -> None:
        if block.phase in ("replay_start", "replay_end"):
            self._replaying = block.phase == "replay_start"
        elif not block.phase and block.iteration:
            self.llm_calls += 1


async def _ask(prompter: Prompter, question: AnyQuestion) -> Given:
    call = question.tool_use_id
    if isinstance(question, ElicitRequestApprove):
        return await prompter.approve(
            GateRequest(
                tool_use_id=call,
                command=question.command,
                display=question.display,
                tag=question.tag,
                args_sha256=question.args_sha256,
            )
        )
    if isinstance(question, ElicitRequestConfirm):
        return await prompter.confirm(call, question.question)
    if isinstance(question, ElicitRequestSelect):
        return await prompter.select(call, question.question, question.options)
    return await prompter.input(call, question.question, question.default)


async def exchange(
    client: AgentClient,
    request: AnyRequest,
    turn: Turn,
    *,
    died: Callable[[], Awaitable[Death]],
) -> TurnEnd:
    """Run one request to its end, whichever comes first: its terminal or a process's death.

    Raises:
        FiskError: the request was refused before it was acknowledged, or nobody answers.
    """
    reading = asyncio.ensure_future(client.run(request, turn))
    death = asyncio.ensure_future(died())
    try:
        await asyncio.wait((reading, death), return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await asyncio.wait((reading,), timeout=TERMINAL_GRACE_S)
        if not reading.done():
            return cut_short(death.result())
        return await _ended(reading, turn, death.result() if death.done() else None)
    finally:
        await settle(reading)
        await settle(death)


def cut_short(death: Death, when: str = "in the middle of the run") -> TurnEnd:
    """Return the end of whatever the death of a process cut short."""
    if death.process == "broker":
        return TurnEnd(code=INCOMPLETE, detail=f"the broker ended {when}")
    if death.process == "silence":
        silence = f"the broker of this run answered nothing for {SILENCE_S:g} s"
        return TurnEnd(code=INCOMPLETE, detail=silence)
    if death.process == "connection":
        why = for_terminal(death.why, REASON_LIMIT)
        return TurnEnd(code=INCOMPLETE, detail=f"the connection to its broker ended {when}: {why}")
    name = signals.name_of(death.status)
    if -death.status in _FROM_OUTSIDE:
        return TurnEnd(code=CRASHED, kind=KILLED, detail=f"its process was killed ({name})")
    how = name or f"exit code {death.status}"
    return TurnEnd(code=CRASHED, detail=f"its process ended {when} ({how})")


async def _ended(reading: asyncio.Future[TaskEnd], turn: Turn, died: Death | None) -> TurnEnd:
    try:
        end = await reading
    except IncompleteTaskError as exc:
        turn.token = exc.token or turn.token
        if died:
            return cut_short(died)
        return TurnEnd(code=INCOMPLETE, kind=BROKEN_OFF, detail=str(exc), unsent=exc.unsent)
    except PeerError:
        if died:
            return cut_short(died)
        raise
    turn.token = end.token or turn.token
    return end_of(end)


def end_of(end: TaskEnd) -> TurnEnd:
    """Return the end of an exchange that has its terminal."""
    terminal = end.terminal
    if isinstance(terminal, ErrorTerminal):
        code, detail, text = terminal.code or "failed", terminal.error, ""
    else:
        code, detail, text = "", "", terminal.text
    return TurnEnd(
        code=code,
        detail=detail,
        text=text,
        usage=terminal.usage,
        trace_id=terminal.trace_id,
        exported=terminal.content_exported,
        unsent=end.unsent,
    )


async def settle(task: asyncio.Future[_T]) -> None:
    """End a task that is no longer of interest, and take what it would otherwise complain about."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
