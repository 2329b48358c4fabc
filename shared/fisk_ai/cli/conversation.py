"""One conversation at the terminal: probe, history, turns, and the closing lines.

Away from a terminal it is one turn. At one it is a chat: after each turn a person types the next
prompt, until they leave or an ending leaves nothing to go on with.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec import UNSET

from fisk_ai.a2a.client import AgentClient
from fisk_ai.a2a.messages import (
    AnyRequest,
    RequestPrompt,
    RequestRead,
    RequestResume,
    Sender,
    request_header,
)
from fisk_ai.cli.agent import Agent
from fisk_ai.cli.chat import Chat, LineReader
from fisk_ai.cli.closing import Closing
from fisk_ai.cli.endings import (
    CRASHED,
    INCOMPLETE,
    LEFT,
    PARKED,
    REFUSED,
    REMOVED,
    UNTAKEN,
    ending,
    ends_chat,
)
from fisk_ai.cli.exchanges import SENDER, Exchanges
from fisk_ai.cli.handles import Handle
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.resume_command import Way
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.turn import Turn, TurnEnd
from fisk_ai.cli.wire_dump import Dump
from fisk_ai.errors import AgentUnavailableError, FiskError, PeerError, SetupError, TaskError
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.sessions.ids import session_id_for_token
from fisk_ai.text.sanitise import for_display

if TYPE_CHECKING:
    from fisk_ai.sessions.state import RunState

PROBE_TIMEOUT_S = 5.0
HISTORY_BLOCKS = 40
"""How much of a resumed conversation is shown: about a screen."""


@dataclass(slots=True, kw_only=True)
class Conversation:
    """Everything said between a terminal and an agent, from the first line to the last.

    ``stored`` returns what the session of that id says, ``None`` where there is none to read;
    ``keys`` reads the prompts of a chat, and ``None`` makes it one turn; ``debug`` sees every
    message; ``way_back`` names the commands that go on.
    """

    flags: RunFlags
    handle: Handle
    agent: Agent
    prompter: TerminalPrompter
    interrupts: Interrupts
    stored: Callable[[str], Awaitable[RunState | None]]
    way_back: Way
    keys: LineReader | None = None
    debug: Dump | None = None
    answered: bool = field(default=False, init=False)
    view: LineView = field(init=False)
    turn: Turn = field(init=False)
    exchanges: Exchanges = field(init=False)
    closing: Closing = field(init=False)

    def __post_init__(self) -> None:
        """Lay out the view, the client, and what is said at the end."""
        options = LineOptions(
            lead=f"warning from {'remote ' if self.agent.elsewhere else ''}agent {self.identity}",
            no_color=self.flags.no_color,
            show_thinking=self.flags.thinking,
            show_results=self.flags.tool_output,
        )
        self.view = LineView(sys.stdout, sys.stderr, options)
        self.turn = self._fresh(self.handle.token)
        self.exchanges = Exchanges(
            client=AgentClient(
                self.agent.connection, self.identity, Sender(name=SENDER), debug=self.debug
            ),
            view=self.view,
            agent=self.agent,
            prompter=self.prompter,
            interrupts=self.interrupts,
            force=self.flags.force,
        )
        self.closing = Closing(
            flags=self.flags,
            agent=self.agent,
            view=self.view,
            stored=self.stored,
            way_back=self.way_back,
            known=self.handle.session_id,
            is_chat=self.keys is not None,
        )

    @property
    def identity(self) -> str:
        """The agent's name."""
        return self.agent.identity

    async def run(self) -> TurnEnd:
        """Probe the agent, show the history, run the turns, and print the closing lines.

        Returns:
            The end of the last turn; a chat that a person left has an empty one.

        Raises:
            FiskError: nobody answers, the request was refused before it was acknowledged, or the
                answer could not be written.
        """
        await self._probe()
        try:
            end = await (self._one_turn() if self.keys is None else self._chat(self.keys))
        except (asyncio.CancelledError, PeerError):
            await self.closing.hint(self.turn, LEFT)
            raise
        self.closing.crash(end)
        return end

    async def _probe(self) -> None:
        """Learn the model from the agent's card; an agent without one still answers.

        Raises:
            SetupError: nobody answers under this identity.
        """
        try:
            card = await self.exchanges.client.card(PROBE_TIMEOUT_S)
        except AgentUnavailableError as exc:
            raise SetupError(self.agent.silence) from exc
        except FiskError:
            return
        self.closing.model = card.model

    async def _one_turn(self) -> TurnEnd:
        unread = await self._history()
        end = unread or await self._turn(self._first())
        return await self._over(end)

    async def _chat(self, keys: LineReader) -> TurnEnd:
        """Run turns until a person leaves or an ending leaves nothing to go on with."""
        unread = await self._history()
        if unread:
            return unread
        chat = Chat(
            keys=keys,
            view=self.view,
            interrupts=self.interrupts,
            died=self.agent.died,
            drop=self._drop,
            original=self.flags.prompt.strip(),
        )
        last = TurnEnd()
        request = await self._begun()
        while True:
            if request is not None:
                end = self._told(request, await self._tried(request))
                if ends_chat(end.code):
                    self._spare(request, end)
                    return await self._over(end)
                await self._said(end)
                self._keep(chat, request, end)
                last = last if end.usage is UNSET else end  # a turn refused has counted nothing
            step = await chat.next()
            if isinstance(step, TurnEnd):
                return await self._left(last, step)
            request = self._prompt(step)

    async def _begun(self) -> AnyRequest | None:
        """Return what to ask first; nothing where a person has yet to say what."""
        if not self.handle.token:
            return self._first() if self.flags.prompt.strip() else None
        if self.agent.elsewhere:
            return None  # the next prompt finishes what was begun, if anything was
        state = await self.closing.state(self.turn)
        return None if state is not None and state.status == "completed" else self._first()

    async def _history(self) -> TurnEnd | None:
        """Show the history of a resumed conversation; return how that failed, if it did."""
        if not self.handle.token:
            return None
        end = await self.exchanges.run(self._read(), self.turn)
        return end if end.code else None

    async def _turn(self, request: AnyRequest) -> TurnEnd:
        """Run one turn, with the answers that came too late for it."""
        began = time.monotonic()
        self.turn = self.turn.following()
        end = await self._recovered(request, await self.exchanges.run(request, self.turn))
        if end.unsent:
            end = await self.exchanges.settle_answers(self.turn, end)
            end = await self._recovered(request, end)
        self.closing.busy_s += time.monotonic() - began
        return end

    async def _tried(self, request: AnyRequest) -> TurnEnd:
        try:
            return await self._turn(request)
        except PeerError:
            self._spare(request, TurnEnd(code="rejected"))
            raise

    def _told(self, request: AnyRequest, end: TurnEnd) -> TurnEnd:
        """Return the end with its finer kind: a chat knows the conversation that it began."""
        is_removed = isinstance(request, RequestPrompt) and bool(request.conversation_token)
        if is_removed and end.code == "unknown_conversation":
            return replace(end, kind=REMOVED, detail="")
        return end

    def _spare(self, request: AnyRequest, end: TurnEnd) -> None:
        """Print a prompt that was not taken by a chat that is over: nothing typed is lost."""
        if isinstance(request, RequestPrompt) and end.code in UNTAKEN:
            self.view.note(f"\nyour prompt was not taken: {for_display(request.prompt)}")

    def _keep(self, chat: Chat, request: AnyRequest, end: TurnEnd) -> None:
        """Say where the prompt of a turn without a result is: in the line, or with the next one."""
        if not isinstance(request, RequestPrompt):
            return
        if end.code in UNTAKEN:
            chat.keep(request.prompt)
        elif end.code == "failed":
            self.view.note("your prompt is kept: the model reads it together with the next one")

    async def _said(self, end: TurnEnd) -> None:
        """Print what a turn of a chat that goes on came to."""
        if end.code:
            self.view.forget()
            self.view.note(f"\n{ending(end.kind or end.code, end.detail).message}")
        else:
            await self.closing.answer(self.turn, end)
            self.answered = True
        self.closing.usage(self.turn, end)

    async def _over(self, end: TurnEnd) -> TurnEnd:
        """Print what the last turn came to, and how to go on; a refused one came to nothing."""
        if not await self._ran(end):
            if self.answered:
                await self.closing.hint(self.turn, LEFT)
            return end
        await self.closing.answer(self.turn, end)
        self.closing.parked(end)
        self.closing.usage(self.turn, end)
        self.closing.summary(self.turn, end)
        await self.closing.hint(self.turn, end.code)
        return end

    async def _left(self, last: TurnEnd, end: TurnEnd) -> TurnEnd:
        """Print the closing lines of a chat that ended between two turns."""
        if self.turn.token:
            self.closing.summary(self.turn, last)
        await self.closing.hint(self.turn, LEFT)
        return end

    async def _drop(self) -> None:
        """Put the conversation aside: the next prompt begins a new one."""
        await self.closing.saved(self.turn)
        self.handle = Handle()
        self.closing.known, self.closing.busy_s = "", 0.0
        self.turn = self._fresh()

    def _fresh(self, token: str = "") -> Turn:
        return Turn(view=self.view, prompter=self.prompter, whole=self._whole, token=token)

    def _whole(self, token: str) -> str:
        return self.way_back.transcript(session_id_for_token(self.identity, token))

    def _first(self) -> AnyRequest:
        if not self.handle.token:
            return self._prompt(self.flags.prompt)
        header = request_header(Sender(name=SENDER), self.identity)
        return RequestResume(**header, conversation_token=self.handle.token, force=self.flags.force)

    def _prompt(self, text: str) -> AnyRequest:
        token = self.turn.token
        return RequestPrompt(
            **request_header(Sender(name=SENDER), self.identity),
            prompt=text,
            conversation_token=token,
            force=bool(token) and self.flags.force,
        )

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
        return await self.closing.exists(self.turn)

    async def _recovered(self, request: AnyRequest, end: TurnEnd) -> TurnEnd:
        """Return the end with what only the session says of it.

        A session that knows nothing of a prompt tells of the turn before it.
        """
        from fisk_ai.cli.recovery import is_wanting, recovered  # noqa: PLC0415 - seldom needed

        state = await self.closing.state(self.turn) if is_wanting(end) else None
        if state is None:
            return end
        if isinstance(request, RequestPrompt) and request.request not in state.requests:
            return end
        return recovered(end, state)


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
