"""What is said when a turn or a conversation is over: its answer, its cost, how to go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from fisk_ai.cli.agent import Agent
from fisk_ai.cli.endings import CRASHED, EXHAUSTED, NO_ROOM, PARKED, ending, may_resume
from fisk_ai.cli.resume_command import Way
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.turn import Turn, TurnEnd
from fisk_ai.errors import FiskError
from fisk_ai.render.line import LineView
from fisk_ai.render.summary import RunSummary, usage_line
from fisk_ai.sessions.ids import session_id_for_token

if TYPE_CHECKING:
    from fisk_ai.sessions.state import RunState

_NO_ANSWER = frozenset({"refusal", "max_tokens"})
"""Why a model stopped whose reply is recorded and is no answer."""


@dataclass(slots=True, kw_only=True)
class Closing:
    """Prints the ends of one terminal's turns.

    ``stored`` returns what the session of that id says, ``None`` where there is none to read;
    ``way_back`` names the commands that go on with it.
    ``known`` is the session's id where the handle named it; ``model`` is what the agent's card
    names; ``busy_s`` the time the turns took together; ``is_chat`` says that a person may go on
    with another prompt.
    """

    flags: RunFlags
    agent: Agent
    view: LineView
    stored: Callable[[str], Awaitable[RunState | None]]
    way_back: Way
    known: str = ""
    model: str = ""
    busy_s: float = 0.0
    is_chat: bool = False

    def session_id(self, turn: Turn) -> str:
        """Return the session of the turn's conversation; empty before it has one."""
        if self.known or not turn.token:
            return self.known
        return session_id_for_token(self.agent.identity, turn.token)

    async def state(self, turn: Turn) -> RunState | None:
        """Return what the session of the turn's conversation says."""
        session_id = self.session_id(turn)
        return await self.stored(session_id) if session_id else None

    async def exists(self, turn: Turn) -> bool:
        """Say whether there is a conversation to go on with, as far as it can be known here."""
        if self.agent.elsewhere:
            return bool(turn.token)
        return await self.state(turn) is not None

    async def answer(self, turn: Turn, end: TurnEnd) -> None:
        """Print the answer, the result of the command, or say that there is nothing in it.

        Raises:
            FiskError: it could not be written; the message says where it is kept.
        """
        try:
            said = self.view.answer(end.text)
        except OSError as exc:
            kept = ""
            if await self.exists(turn):
                kept = f"; it is kept: {self._resume(turn)}"
            raise FiskError(f"the answer could not be written ({exc.strerror}){kept}") from exc
        if not (said or end.code):
            self.view.note("the agent finished and had nothing to say")

    def usage(self, turn: Turn, end: TurnEnd) -> None:
        """Print what the conversation has used so far, below an empty line."""
        usage = usage_line(turn.totals(end.usage), turn.bound)
        self.view.note(f"\n{usage}" if usage else "")

    def parked(self, end: TurnEnd) -> None:
        """Say that the run waits; any other ending's words are the command's error."""
        if end.code in PARKED:
            self.view.note(f"\n{ending(end.code, end.detail).message}")

    def summary(self, turn: Turn, end: TurnEnd) -> None:
        """Print the line of counters."""
        summary = RunSummary(
            session_id=self.session_id(turn),
            model=self.model,
            totals=turn.totals(end.usage),
            latency_s=self.busy_s,
            counted=not end.code or end.usage is not UNSET,
            suspended=end.code in PARKED,
            verbose=self.flags.verbose,
            trace_id=end.trace_id,
            exported=end.exported,
        )
        self.view.note(summary.line())

    def crash(self, end: TurnEnd) -> None:
        """Show what the worker's log says of the crash: its error, without the way to it."""
        if end.code != CRASHED:
            return
        for line in self.agent.last_words():
            self.view.note(f"agent log: {line}")
        if not self.flags.verbose and not self.agent.elsewhere:
            self.view.note("pass --verbose to see the agent's whole log")

    async def hint(self, turn: Turn, code: str) -> None:
        """Say how to go on, unless there is nothing to go on with: a session can get lost.

        A conversation elsewhere is in nobody's list here: after its answer its token is told, too.
        """
        can_go_on = may_resume(code) or (not code and self.agent.elsewhere)
        if not can_go_on or not await self.exists(turn):
            return
        state = await self.state(turn)
        if not self.is_chat and self._repeats(code, state):
            return
        flags = _answer_flags(state) if state is not None and code == "deferred" else ""
        if flags:
            answer = self.way_back.answer(self.session_id(turn))
            self.view.note(f"answer with {flags}: {answer}")
        resume = self._resume(turn)
        if code == NO_ROOM:
            self._say_way_back(
                "a resume sends the same again and is refused again: begin a new conversation;"
                " where the error speaks of a model with more room, set it and go on with:"
                f" {resume} --force"
            )
            return
        self._say_way_back(f"resume with: {resume}")

    async def saved(self, turn: Turn) -> None:
        """Say how to get back to a conversation that is put aside."""
        if await self.exists(turn):
            command = self._resume(turn)
            self._say_way_back(f"previous conversation saved; resume with: {command}")

    def _say_way_back(self, line: str) -> None:
        """Print a line that ends with a command, and what the command needs besides."""
        self.view.note(line)
        if self.way_back.needs:
            self.view.note(self.way_back.needs)

    def _resume(self, turn: Turn) -> str:
        """Return the command that goes on; an agent elsewhere is asked by the token alone."""
        handle = turn.token if self.agent.elsewhere else self.session_id(turn)
        return self.way_back.resume(handle)

    def _repeats(self, code: str, state: RunState | None) -> bool:
        """Say whether going on without a new prompt comes to the failure that is recorded."""
        if state is None:
            return code == EXHAUSTED  # whoever hosts the agent raises its bound
        is_over = state.status == "error" and state.pending is None
        return is_over and state.last_stop_reason in _NO_ANSWER


def _answer_flags(state: RunState) -> str:
    """Return how what the session waits for is answered; empty where no person can."""
    from fisk_ai.cli.session_waiting import QUESTIONS  # noqa: PLC0415 - few runs end so

    kinds = {QUESTIONS.get(item.tool_name) for item in state.open_deferrals}
    return " or ".join(sorted(f"--{kind}" for kind in kinds if kind is not None))
