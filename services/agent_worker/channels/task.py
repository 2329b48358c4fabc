"""One accepted task: its slot, its control subjects, and how it ends."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from agent_worker.channels.admission import Admission, Slot
from agent_worker.channels.narration import Narration
from agent_worker.channels.terminals import facts_of, terminal_of
from agent_worker.requests import read
from fisk_ai import faults
from fisk_ai.a2a import codec, subjects
from fisk_ai.a2a.codes import Ending, disposition
from fisk_ai.a2a.elicit import CallerPrompter
from fisk_ai.a2a.messages import (
    Ack,
    AnyElicitReply,
    Cancel,
    ElicitWaiting,
    QuestionReply,
    RequestPrompt,
    RunRequest,
    Terminal,
    protocol_of,
    reply_header,
)
from fisk_ai.a2a.reply_set import ReplySet
from fisk_ai.bus.connection import Connection, Inbound, Watch
from fisk_ai.errors import BusError, ProtocolError
from fisk_ai.serving.contract import Outcome
from fisk_ai.toolkit.prompter import Prompter

_log = logging.getLogger("agent_worker.prompts")

_CRASHED = Ending("crashed", "error", "the run crashed")


APPROVED_BY_OPERATOR = "approvals of this agent are given by its operator"
"""What a caller is told whose approval does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """How long a task may wait for its caller, in seconds, and whether its approvals count."""

    window_s: float
    elicit_max_s: float
    approves: bool = True
    parks: bool = False


class Task:
    """Holds what one run of a caller holds, from its admission to its terminal."""

    def __init__(
        self,
        reply_set: ReplySet,
        request: RunRequest,
        *,
        admission: Admission,
        slot: Slot,
        questions: Questions | None,
        absent: Prompter,
    ) -> None:
        """``questions`` is absent where the caller may not be asked; ``absent`` serves there."""
        self.request = request
        self.reply_set = reply_set
        self.narration = Narration(reply_set)
        self.prompter = self._prompter(questions) if questions is not None else None
        self.asks: Prompter = self.prompter or absent
        self._approves = questions is None or questions.approves
        self._admission = admission
        self._slot = slot
        self._watches: list[Watch] = []
        self._cancelled = False

    @property
    def session(self) -> str:
        """The session of its conversation."""
        return self._slot.session

    def stopping(self) -> bool:
        """Say whether the run should park at its next boundary."""
        return self._cancelled or self._admission.draining

    async def listen(self, connection: Connection) -> None:
        """Take cancels, and answers where questions may be asked.

        Raises:
            BusError: a subject could not be listened on.
        """
        identity, tag = self.reply_set.identity, self.request.request
        self._watches.append(await connection.watch(subjects.cancel(identity, tag), self._cancel))
        if self.prompter is not None:
            subject = subjects.elicit(identity, tag)
            self._watches.append(await connection.watch(subject, self._answer))

    async def let_go(self) -> None:
        """Close the questions, the control subjects and the slot; twice is harmless."""
        if self.prompter is not None:
            self.prompter.give_up()
        watches, self._watches = self._watches, []
        for watch in watches:
            await watch.close()
        self._admission.release(self._slot)

    async def done(self, outcome: Outcome) -> None:
        """Tell the caller how its run ended."""
        try:
            terminal = self._terminal(outcome)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, its caller has to be told
            _log.exception("task %s: its ending could not be worded", self.request.request)
            terminal = terminal_of(self.reply_set, _CRASHED)
        await self._finish(terminal)

    def _terminal(self, outcome: Outcome) -> Terminal:
        facts = facts_of(
            outcome, follow_up=is_follow_up(self.request), started=self.narration.started
        )
        # A run that never had its session has counted nothing; zeros would look like its totals.
        stats = outcome.stats if self.narration.started else None
        return terminal_of(self.reply_set, disposition(facts), answer=outcome.text, stats=stats)

    async def end(self, ending: Ending) -> None:
        """Tell the caller that its run never began."""
        await self._finish(terminal_of(self.reply_set, ending))

    async def _finish(self, terminal: Terminal) -> None:
        # The slot is free before the terminal goes out: a caller that sends its next turn on
        # receipt of it must not be told that the conversation is busy.
        try:
            await self.let_go()
            faults.point(faults.Point.TASK_TERMINAL_BEFORE)
            await self._send_last(terminal)
        except Exception:
            # A bug of ours on the last step. Without an ending the keepalives would go on, and a
            # caller would take a task that is over for one that works.
            await self._send_last(terminal_of(self.reply_set, _CRASHED))
            raise
        faults.point(faults.Point.TASK_TERMINAL_AFTER)

    async def _send_last(self, terminal: Terminal) -> None:
        try:
            await self.reply_set.finish(terminal)
        except (BusError, ProtocolError) as exc:
            _log.error("task %s: its ending could not be sent: %s", self.request.request, exc)

    async def _cancel(self, inbound: Inbound) -> None:
        message = await read(inbound, "the cancel")
        if message is None:
            return
        if not isinstance(message, Cancel):
            await inbound.refuse(
                "400", f'the cancel path carries cancel messages: got "{protocol_of(message)}"'
            )
            return
        if not await self._is_of_this_task(inbound, message):
            return
        self._cancelled = True
        if self.prompter is not None:
            self.prompter.give_up()
        await self._acknowledge(inbound, message)

    async def _answer(self, inbound: Inbound) -> None:
        message = await read(inbound, "the answer")
        if message is None:
            return
        if not isinstance(message, QuestionReply):
            await inbound.refuse(
                "400",
                f'the answer path carries answers to questions: got "{protocol_of(message)}"',
            )
            return
        if not await self._is_of_this_task(inbound, message):
            return
        if self._is_refused(message):
            await inbound.refuse("403", APPROVED_BY_OPERATOR)
            return
        if self.prompter is None or not self.prompter.answer(message):
            await inbound.refuse(
                "404", f'this run is not waiting on question "{message.question_id[:200]}"'
            )
            return
        await self._acknowledge(inbound, message)

    def _is_refused(self, message: AnyElicitReply) -> bool:
        """Say whether a caller decides what its operator decides; waiting decides nothing."""
        if self._approves or self.prompter is None or isinstance(message, ElicitWaiting):
            return False
        return self.prompter.is_approval(message.question_id)

    async def _is_of_this_task(self, inbound: Inbound, message: Cancel | AnyElicitReply) -> bool:
        """Say whether a message is about the task its subject names; refuse one that is not."""
        tag = self.request.request
        if message.request == tag:
            return True
        await inbound.refuse(
            "400", f'the message is of request "{message.request}" and its subject of "{tag}"'
        )
        return False

    async def _acknowledge(self, inbound: Inbound, message: Cancel | AnyElicitReply) -> None:
        ack = Ack(**reply_header(message, self.reply_set.identity), accepted=True)
        await inbound.respond(codec.encode(ack))

    def _prompter(self, questions: Questions) -> CallerPrompter:
        return CallerPrompter(
            self.reply_set,
            window_s=questions.window_s,
            elicit_max_s=questions.elicit_max_s,
            parks=questions.parks,
            draining=lambda: self._admission.draining,
        )


def is_follow_up(request: RunRequest) -> bool:
    """Say whether ``request`` adds a turn to a conversation that exists."""
    return isinstance(request, RequestPrompt) and bool(request.conversation_token)
