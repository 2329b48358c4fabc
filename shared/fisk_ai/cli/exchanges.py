"""The requests of one terminal: each run to its end, stopped on request, never sent twice.

The exception is a decision that came too late for its question: it is sent on a request of its
own, and again for as long as the agent is merely busy.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, field, replace

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import Answer, AnyRequest, RequestAnswer, Sender, request_header
from fisk_ai.cli.agent import Agent
from fisk_ai.cli.endings import BROKEN_OFF, BUSY, PARKED
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.turn import Turn, TurnEnd, exchange, settle
from fisk_ai.errors import FiskError
from fisk_ai.render.line import LineView
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.text.sanitise import for_terminal

SENDER = "terminal"
"""The name under which the terminal asks."""

REASON_LIMIT = 200

LATE_ATTEMPTS = 3
LATE_PAUSE_S = 0.25
"""A worker lets go of a conversation a moment after its terminal: long enough for that."""

_STAYED_BUSY = "the conversation stayed busy"


@dataclass(slots=True, kw_only=True)
class Exchanges:
    """What the terminal asks of its agent.

    ``force`` goes on although the configuration changed.
    """

    client: AgentClient
    view: LineView
    agent: Agent
    prompter: TerminalPrompter
    interrupts: Interrupts
    force: bool = False
    _stopping: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    async def run(self, request: AnyRequest, turn: Turn) -> TurnEnd:
        """Run one request to its end; the first interrupt asks it to stop.

        Raises:
            FiskError: the request was refused before it was acknowledged, or nobody answers.
        """

        def ask_to_stop(number: signal.Signals) -> None:
            turn.stopped = True  # nothing is to start any more, a late answer included
            typed = number == signal.SIGINT and self.prompter.can_prompt()
            again = "press ^C again to leave it" if typed else "a second signal leaves it"
            self.view.note(f"asked the run to stop at its next boundary; {again}")
            self._stopping.append(asyncio.ensure_future(self._cancel(request.request)))

        try:
            with self.interrupts.asking(ask_to_stop):
                end = await exchange(self.client, request, turn, died=self.agent.died)
        finally:
            while self._stopping:
                await settle(self._stopping.pop())
        if end.kind == BROKEN_OFF and self.agent.elsewhere:
            return replace(end, kind="")  # nobody here can tell whether its worker is there
        return end

    async def settle_answers(self, turn: Turn, end: TurnEnd) -> TurnEnd:
        """Send the answers that came too late; what they start is the new end."""
        if end.unsent and turn.stopped:
            self.view.note("your answer crossed the request to stop and is not sent; a resume asks")
            return end
        for answer in end.unsent:
            self.view.note("your answer arrived after the run gave the question up; sending it now")
            end = await self._deliver(answer, turn, end)
        return end

    async def _deliver(self, answer: Answer, turn: Turn, end: TurnEnd) -> TurnEnd:
        try:
            answered = await self._repeated(answer, turn)
        except FiskError as exc:
            why = str(exc)
        else:
            if not answered.code or answered.code in PARKED:
                return answered
            why = _STAYED_BUSY if answered.code in BUSY else answered.detail
        self.view.warn(f"delivering your answer failed: {for_terminal(why, REASON_LIMIT)}")
        return end

    async def _repeated(self, answer: Answer, turn: Turn) -> TurnEnd:
        """Send an answer, and again while the agent is busy and nobody wants it to stop."""
        answered = await self.run(self._late(answer, turn), turn)
        for _ in range(LATE_ATTEMPTS - 1):
            if answered.code not in BUSY or turn.stopped:
                break
            await asyncio.sleep(LATE_PAUSE_S)
            answered = await self.run(self._late(answer, turn), turn)
        return answered

    def _late(self, answer: Answer, turn: Turn) -> RequestAnswer:
        return RequestAnswer(
            **request_header(Sender(name=SENDER), self.agent.identity),
            conversation_token=turn.token,
            answer=answer,
            force=self.force,
        )

    async def _cancel(self, request_id: str) -> None:
        try:
            running = await self.client.cancel(request_id, "interrupted at the terminal")
        except FiskError as exc:
            self.view.warn(f"asking the run to stop failed: {for_terminal(str(exc), REASON_LIMIT)}")
            return
        if not running:
            self.view.warn("the run is not running any more")
