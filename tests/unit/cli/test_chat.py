"""Between two turns: what is typed, and what ends the chat."""

from __future__ import annotations

import asyncio
import io
import signal
from collections.abc import Sequence

import pytest

from fisk_ai.cli.agent import Death
from fisk_ai.cli.chat import Chat
from fisk_ai.cli.endings import ends_chat
from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.run_flags import PROMPT_LIMIT_BYTES
from fisk_ai.cli.turn import TurnEnd
from fisk_ai.render.line import LineView


class Keys:
    """Types the given lines, then waits for ever; remembers what it was asked to."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)
        self.kept: list[str] = []
        self.remembered: list[str] = []
        self.waiting = asyncio.Event()

    async def read(self, kept: str = "") -> str:
        self.kept.append(kept)
        if not self.lines:
            self.waiting.set()
            await asyncio.get_running_loop().create_future()
        line = self.lines.pop(0)
        if line == "\x04":
            raise EOFError
        return line

    def remember(self, text: str) -> None:
        self.remembered.append(text)


class Stage:
    """A chat whose agent lives until it is killed."""

    def __init__(self, *lines: str, original: str = "") -> None:
        self.keys = Keys(lines)
        self.err = io.StringIO()
        self.dropped = 0
        self.deaths: asyncio.Queue[Death] = asyncio.Queue()
        self.interrupts = Interrupts(abort_question=lambda: False)
        self.chat = Chat(
            keys=self.keys,
            view=LineView(io.StringIO(), self.err),
            interrupts=self.interrupts,
            died=self.deaths.get,
            drop=self._drop,
            original=original,
        )

    async def _drop(self) -> None:
        self.dropped += 1


async def test_blank_lines_are_no_prompts_and_prompts_are_remembered() -> None:
    stage = Stage("", "  ", "moo", "//x")
    assert await stage.chat.next() == "moo"
    assert await stage.chat.next() == "/x"
    assert stage.keys.remembered == ["moo", "//x"]


@pytest.mark.parametrize("line", ["/exit", "/quit", "\x04"])
async def test_a_person_may_leave(line: str) -> None:
    assert await Stage("/help", line).chat.next() == TurnEnd()


async def test_an_interrupt_leaves_and_drops_what_was_half_typed() -> None:
    stage = Stage()
    leaving = asyncio.ensure_future(stage.chat.next())
    await stage.keys.waiting.wait()
    stage.interrupts.press(signal.SIGINT)
    assert await leaving == TurnEnd()


async def test_an_agent_that_dies_ends_the_chat() -> None:
    stage = Stage()
    ending = asyncio.ensure_future(stage.chat.next())
    await stage.keys.waiting.wait()
    stage.deaths.put_nowait(Death("broker"))
    end = await ending
    assert isinstance(end, TurnEnd)
    assert (end.code, end.detail) == ("incomplete", "the broker ended between two turns")


async def test_an_unknown_command_and_a_prompt_too_long_are_kept_for_mending() -> None:
    long = "x" * PROMPT_LIMIT_BYTES
    stage = Stage("/moo\x1b[2J it", long, "moo")
    assert await stage.chat.next() == "moo"
    assert stage.keys.kept == ["", "/moo\x1b[2J it", long]
    said = stage.err.getvalue()
    assert said.startswith("unknown command: /moo\nthe prompt is ")
    assert "\x1b" not in said


async def test_restarting_needs_a_first_prompt_and_drops_nothing_without() -> None:
    stage = Stage("/restart", "moo")
    assert await stage.chat.next() == "moo"
    assert stage.dropped == 0
    assert stage.err.getvalue() == "no original prompt to restart: none was on the command line\n"
    again = Stage("/redo", original="go")
    assert await again.chat.next() == "go"
    assert again.dropped == 1


async def test_clearing_drops_the_conversation_and_asks_unless_it_brings_a_prompt() -> None:
    stage = Stage("/clear", "/clear tell\nmore")
    assert await stage.chat.next() == "tell\nmore"
    assert stage.dropped == 2


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("", False),
        ("capacity", False),
        ("conversation_busy", False),
        ("turn_not_taken", False),
        ("failed", False),
        ("suspended", True),
        ("deferred", True),
        ("draining", True),
        ("unknown_conversation", True),
        ("budget_exhausted", True),
        ("crashed", True),
        ("not_started", True),
        ("canceled", True),
        ("rejected", True),
        ("of-a-newer-agent", True),
    ],
)
def test_a_chat_ends_where_a_further_turn_could_do_no_better(code: str, *, ends: bool) -> None:
    assert ends_chat(code) == ends


async def test_a_prompt_that_was_not_taken_stands_in_the_line_again() -> None:
    stage = Stage("moo")
    stage.chat.keep("not taken")
    assert await stage.chat.next() == "moo"
    assert stage.keys.kept == ["not taken"]
