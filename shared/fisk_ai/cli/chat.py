"""Between two turns of a chat: what a person types, until it is a prompt or they leave.

Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from fisk_ai.cli import slash
from fisk_ai.cli.agent import Death
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.run_flags import check_size
from fisk_ai.cli.turn import TurnEnd, cut_short, settle
from fisk_ai.errors import UsageError
from fisk_ai.render.line import LineView
from fisk_ai.text.sanitise import for_terminal

COMMAND_LIMIT = 40
"""Code points of a command that does not exist."""

_BETWEEN = "between two turns"


class LineReader(Protocol):
    """Where prompts are typed."""

    async def read(self, kept: str = "") -> str:
        """Return what was typed; ``kept`` stands there already.

        Raises:
            EOFError: no more is to come.
        """
        ...

    def remember(self, text: str) -> None:
        """Let ``text`` be recalled."""
        ...


@dataclass(slots=True, kw_only=True)
class Chat:
    """Reads the prompts of one chat.

    ``died`` waits for the death of the agent; ``drop`` puts the conversation aside; ``original``
    is the prompt of the command line.
    """

    keys: LineReader
    view: LineView
    interrupts: Interrupts
    died: Callable[[], Awaitable[Death]]
    drop: Callable[[], Awaitable[None]]
    original: str = ""
    _kept: str = ""

    def keep(self, prompt: str) -> None:
        """Put a prompt that was not taken back into the line."""
        self._kept = prompt

    async def next(self) -> str | TurnEnd:
        """Return the next prompt, or how the chat ends: empty when the person left it."""
        while True:
            typed, self._kept = await self._typed(), ""
            if isinstance(typed, TurnEnd):
                return typed
            line = slash.read(typed)
            if line.meaning == "exit":
                return TurnEnd()
            if line.meaning not in ("nothing", "prompt"):
                self.keys.remember(typed)
            prompt = await self._prompt_of(line, typed)
            if prompt and self._fits(prompt, typed):
                return prompt

    async def _prompt_of(self, line: slash.Line, typed: str) -> str:
        """Return the prompt to send; empty where the line was a command and is done."""
        match line.meaning:
            case "prompt":
                self.keys.remember(typed)
                return line.text
            case "clear":
                await self._clear()
                return line.text
            case "restart":
                return await self._restart()
            case "help":
                self.view.note(slash.HELP)
            case "unknown":
                self._kept = typed
                self.view.note(f"unknown command: {for_terminal(line.text, COMMAND_LIMIT)}")
            case _:
                pass
        return ""

    async def _restart(self) -> str:
        if not self.original:
            self.view.note("no original prompt to restart: none was on the command line")
            return ""
        await self._clear()
        self.view.note("restarting with the original prompt")
        self.view.prompt(self.original)
        return self.original

    async def _clear(self) -> None:
        await self.drop()
        self.view.note("--- context cleared ---")

    def _fits(self, prompt: str, typed: str) -> bool:
        try:
            check_size(prompt)
        except UsageError as exc:
            self._kept = typed
            self.view.note(str(exc))
            return False
        return True

    async def _typed(self) -> str | TurnEnd:
        """Wait for a line, for the person to leave, or for the agent's death."""
        reading = asyncio.ensure_future(self.keys.read(self._kept))
        death = asyncio.ensure_future(self.died())

        def leave(number: signal.Signals) -> None:
            if number == signal.SIGINT:
                reading.cancel()
            else:
                self.interrupts.press(number)

        try:
            with self.interrupts.asking(leave):
                await asyncio.wait((reading, death), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return _line(reading)
            return cut_short(death.result(), _BETWEEN)
        finally:
            await settle(reading)
            await settle(death)


def _line(reading: asyncio.Future[str]) -> str | TurnEnd:
    """Return what was typed; Ctrl-C and Ctrl-D leave."""
    try:
        return TurnEnd() if reading.cancelled() else reading.result()
    except EOFError:
        return TurnEnd()
