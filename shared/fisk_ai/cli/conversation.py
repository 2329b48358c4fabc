"""One hosted conversation at the terminal: probe, history, one turn, and the closing lines."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import UNSET

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import (
    Answer,
    AnyRequest,
    RequestAnswer,
    RequestPrompt,
    RequestRead,
    RequestResume,
    Sender,
    request_header,
)
from fisk_ai.cli.endings import (
    CRASHED,
    INCOMPLETE,
    LEFT,
    PARKED,
    REFUSED,
    ending,
    may_resume,
)
from fisk_ai.cli.handles import Handle
from fisk_ai.cli.hosting import Hosted
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.resume_command import resume_command
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.turn import Turn, TurnEnd, exchange, settle
from fisk_ai.cli.wire_dump import Dump
from fisk_ai.errors import AgentUnavailableError, FiskError, SetupError, TaskError
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.render.summary import RunSummary, usage_line
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.text.sanitise import for_terminal

if TYPE_CHECKING:
    from fisk_ai.sessions.state import RunState

SENDER = "fisk-ai"
"""The name under which the terminal asks."""

PROBE_TIMEOUT_S = 5.0
HISTORY_BLOCKS = 40
"""How much of a resumed conversation is shown: about a screen."""

REASON_LIMIT = 200


@dataclass(slots=True, kw_only=True)
class Conversation:
    """Everything said between a terminal and the agent it hosts, from the first line to the last.

    ``stored`` returns what the session of that id says, ``None`` where there is none to read;
    ``debug`` sees every message.
    """

    flags: RunFlags
    handle: Handle
    hosted: Hosted
    prompter: TerminalPrompter
    interrupts: Interrupts
    stored: Callable[[str], Awaitable[RunState | None]]
    debug: Dump | None = None
    model: str = ""
    stopped: bool = False
    view: LineView = field(init=False)
    turn: Turn = field(init=False)
    client: AgentClient = field(init=False)

    def __post_init__(self) -> None:
        """Lay out the view and the client."""
        identity = self.identity
        options = LineOptions(
            lead=f"warning from agent {identity}",
            no_color=self.flags.no_color,
            show_thinking=self.flags.thinking,
            show_results=self.flags.tool_output,
        )
        self.view = LineView(sys.stdout, sys.stderr, options)
        self.turn = Turn(view=self.view, prompter=self.prompter, token=self.handle.token)
        self.client = AgentClient(
            self.hosted.connection, identity, Sender(name=SENDER), debug=self.debug
        )

    @property
    def identity(self) -> str:
        """The agent's identity, as its worker says it."""
        return self.hosted.worker.identity

    async def run(self) -> TurnEnd:
        """Probe the agent, show the history, run one turn, and print the closing lines.

        Raises:
            FiskError: nobody answers, the request was refused before it was acknowledged, or the
                answer could not be written.
        """
        await self._probe()
        began = time.monotonic()
        try:
            end = await self._converse()
        except asyncio.CancelledError:
            await self._hint(LEFT)
            raise
        if await self._ran(end):
            await self._answer(end.text)
            self._close(end, time.monotonic() - began)
            await self._hint(end.code)
        self._explain_crash(end)
        return end

    async def _probe(self) -> None:
        """Learn the model from the agent's card; an agent without one still answers.

        Raises:
            SetupError: nobody answers under this identity.
        """
        try:
            card = await self.client.card(PROBE_TIMEOUT_S)
        except AgentUnavailableError as exc:
            raise SetupError(
                f'the agent hosted for this run is not answering as "{self.identity}"'
            ) from exc
        except FiskError:
            return
        self.model = card.model

    async def _converse(self) -> TurnEnd:
        if self.handle.token:
            history = await self._exchange(self._read())
            if history.code:
                return history
        end = await self._recovered(await self._exchange(self._request()))
        if end.unsent and self.stopped:
            self.view.note("your answer crossed the request to stop and is not sent; a resume asks")
            return end
        for answer in end.unsent:
            end = await self._deliver(answer, end)
        return end

    async def _exchange(self, request: AnyRequest) -> TurnEnd:
        stopping: list[asyncio.Task[None]] = []

        def ask_to_stop(number: signal.Signals) -> None:
            self.stopped = True  # nothing is to start any more, a late answer included
            typed = number == signal.SIGINT and self.prompter.can_prompt()
            again = "press ^C again to leave it" if typed else "a second signal leaves it"
            self.view.note(f"asked the run to stop at its next boundary; {again}")
            stopping.append(asyncio.ensure_future(self._cancel(request.request)))

        try:
            with self.interrupts.asking(ask_to_stop):
                return await exchange(self.client, request, self.turn, died=self.hosted.died)
        finally:
            for task in stopping:
                await settle(task)

    async def _cancel(self, request_id: str) -> None:
        try:
            running = await self.client.cancel(request_id, "interrupted at the terminal")
        except FiskError as exc:
            self.view.warn(f"asking the run to stop failed: {for_terminal(str(exc), REASON_LIMIT)}")
            return
        if not running:
            self.view.warn("the run is not running any more")

    async def _deliver(self, answer: Answer, end: TurnEnd) -> TurnEnd:
        """Send an answer that came too late for its question; what it starts is the new end."""
        self.view.note("your answer arrived after the run gave the question up; sending it now")
        request = RequestAnswer(
            **request_header(Sender(name=SENDER), self.identity),
            conversation_token=self.turn.token,
            answer=answer,
        )
        try:
            answered = await self._exchange(request)
        except FiskError as exc:
            why = str(exc)
        else:
            if not answered.code or answered.code in PARKED:
                return answered
            why = answered.detail
        self.view.warn(f"delivering your answer failed: {for_terminal(why, REASON_LIMIT)}")
        return end

    def _request(self) -> AnyRequest:
        header = request_header(Sender(name=SENDER), self.identity)
        if self.handle.token:
            return RequestResume(
                **header, conversation_token=self.handle.token, force=self.flags.force
            )
        return RequestPrompt(**header, prompt=self.flags.prompt)

    def _read(self) -> AnyRequest:
        header = request_header(Sender(name=SENDER), self.identity)
        return RequestRead(**header, conversation_token=self.handle.token, replay=HISTORY_BLOCKS)

    async def _ran(self, end: TurnEnd) -> bool:
        """Say whether there is a run to speak of; for any other ending its error is everything."""
        if end.code in REFUSED:
            return False
        if not end.code or end.code in PARKED or self.turn.saw_work or _spent(end):
            return True
        if self.handle.token and end.code not in (CRASHED, INCOMPLETE):
            return False
        return await self._is_stored()

    async def _recovered(self, end: TurnEnd) -> TurnEnd:
        """Return the end with what only the session says of it."""
        from fisk_ai.cli.recovery import is_wanting, recovered  # noqa: PLC0415 - seldom needed

        state = await self._stored() if is_wanting(end) else None
        return end if state is None else recovered(end, state)

    async def _stored(self) -> RunState | None:
        session_id = self._session_id()
        return await self.stored(session_id) if session_id else None

    async def _is_stored(self) -> bool:
        return await self._stored() is not None

    async def _answer(self, text: str) -> None:
        """Print the answer, the result of the command.

        Raises:
            FiskError: it could not be written; the message says where it is kept.
        """
        try:
            self.view.answer(text)
        except OSError as exc:
            session_id = self._session_id()
            kept = ""
            if session_id and await self._is_stored():
                kept = f"; it is kept: {resume_command(session_id, self.flags)}"
            raise FiskError(f"the answer could not be written ({exc.strerror}){kept}") from exc

    def _close(self, end: TurnEnd, latency_s: float) -> None:
        """Print what is to be said about the turn; a failure's words come last."""
        if end.code in PARKED:
            self.view.note(f"\n{ending(end.code, end.detail).message}")
        totals = self.turn.totals(end.usage)
        usage = usage_line(totals, self.turn.bound)
        self.view.note(f"\n{usage}" if usage else "")
        summary = RunSummary(
            session_id=self._session_id(),
            model=self.model,
            totals=totals,
            latency_s=latency_s,
            counted=not end.code or end.usage is not UNSET,
            suspended=end.code in PARKED,
            verbose=self.flags.verbose,
            trace_id=end.trace_id,
            exported=end.exported,
        )
        self.view.note(summary.line())

    def _explain_crash(self, end: TurnEnd) -> None:
        if end.code != CRASHED:
            return
        for line in self.hosted.worker.log_tail():
            self.view.note(f"agent log: {line}")
        if not self.flags.verbose:
            self.view.note("pass --verbose to see the agent's whole log")

    async def _hint(self, code: str) -> None:
        """Say how to go on, unless there is nothing to go on with: a session can get lost."""
        session_id = self._session_id()
        if session_id and may_resume(code) and await self._is_stored():
            self.view.note(f"resume with: {resume_command(session_id, self.flags)}")

    def _session_id(self) -> str:
        if self.handle.session_id or not self.turn.token:
            return self.handle.session_id
        return session_id_for_token(self.identity, self.turn.token)


def _spent(end: TurnEnd) -> bool:
    usage = end.usage
    return usage is not UNSET and usage.input_tokens + usage.output_tokens > 0


def exit_code(end: TurnEnd) -> int:
    """Return 0 for a turn that succeeded or waits.

    Raises:
        TaskError: it failed; the message says how it ended.
    """
    if not end.code:
        return 0
    ended = ending(end.kind or end.code, end.detail)
    if ended.failed:
        raise TaskError(ended.message, task_code=end.code)
    return 0
