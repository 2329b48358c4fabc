"""Whatever others write, a terminal is shown text and colours of ours."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import unicodedata
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fisk_ai.a2a import events
from fisk_ai.render.events import show
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.line import LineOptions, LineView
from fisk_ai.render.questions import TerminalPrompter
from fisk_ai.toolkit.prompter import GateRequest

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_ATTACKS = st.sampled_from(
    (
        "\x1b[2J",
        "\x1b]0;title\x07",
        "\x1b]52;c;aGk=\x1b\\",
        "\x1b",
        "\x9b31m",
        "\x90q\x9c",
        "\u202e",
        "\u2066",
        "&#27;[2J",
        "&#x202e;",
        "&#155;2J",
        "\r",
        "\b",
        "\x00",
        "\ud800",
        "[x](\x1b]8;;http://evil\x07)",
        "`\x1b[5m`",
        "```\n\x1b[5m\n```",
        "|a|\n|-|\n|\x1b[5m|",
        "<b onclick=\x1b>",
    )
)
_HOSTILE = st.lists(_ATTACKS | st.text(max_size=12), max_size=6).map("".join)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Answering(Tty):
    """A screen whose reader presses Enter at every question."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def write(self, text: str, /) -> int:
        if text in ("answer: ", "answer [1]: ", "> "):
            os.write(self._descriptor, b"\n")
        return super().write(text)


def _is_harmless(shown: str) -> bool:
    left = _STYLE.sub("", shown)
    return not [
        char
        for char in left
        if char not in "\n\t"
        and (unicodedata.category(char) in ("Cc", "Cs") or char in "\u202a\u202b\u202c\u202d\u202e")
    ] and not {"\u2066", "\u2067", "\u2068", "\u2069"}.intersection(left)


_BLOCKS: tuple[Callable[[str], events.EventBlock], ...] = (
    lambda text: events.TextBlockEvent(text=text),
    lambda text: events.TextBlockEvent(text=text, final=True),
    lambda text: events.ThinkingBlockEvent(text=text),
    lambda text: events.PromptBlockEvent(text=text),
    lambda text: events.ToolCallBlockEvent(
        id=text, name=text, input=msgspec.Raw(msgspec.json.encode({_sent(text): _sent(text)}))
    ),
    lambda text: events.ToolResultBlockEvent(call_id="1", output=text),
    lambda text: events.ToolResultBlockEvent(call_id="1", output=text, is_error=True),
    lambda text: events.AgentCallBlockEvent(id="1", name=text, task=text),
    lambda text: events.StatusBlockEvent(phase=text),
    lambda text: events.WarningBlockEvent(kind=text or "x", name=text, params=(text,), error=text),
    lambda text: events.WarningBlockEvent(kind="config_drift", params=(text,)),
)


def _sent(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@settings(max_examples=60, deadline=None)
@given(_HOSTILE, st.booleans())
def test_no_text_of_others_gives_a_terminal_an_order(text: str, no_color: bool) -> None:  # noqa: FBT001 - drawn
    out, err = Tty(), Tty()
    options = LineOptions(no_color=no_color, show_thinking=True, show_results=True)
    view = LineView(out, err, options)
    for block in _BLOCKS:
        show(view, block(text))
    view.answer()
    shown = out.getvalue() + err.getvalue()
    assert _is_harmless(shown)
    assert not no_color or "\x1b" not in shown


@settings(max_examples=25, deadline=None)
@given(_HOSTILE)
def test_no_question_of_others_gives_a_terminal_an_order(text: str) -> None:
    assert _is_harmless(asyncio.run(_asked(text)))


async def _asked(text: str) -> str:
    leader, follower = pty.openpty()
    screen = Answering(leader)
    gate = GateRequest(tool_use_id="c", command=text, display=text, tag=text, args_sha256="0" * 64)
    with os.fdopen(follower, encoding="utf-8") as stdin:
        prompter = TerminalPrompter(Keyboard(stdin), screen)
        for question in (
            prompter.approve(gate),
            prompter.confirm("c", text),
            prompter.select("c", text, (text, text)),
            prompter.input("c", text, text),
        ):
            await question
    os.close(leader)
    return screen.getvalue()


@pytest.mark.parametrize("reference", ["&#27;[2J", "&#x9b;2J", "&#x202e;abc"])
def test_a_character_reference_smuggles_nothing_through_markdown(reference: str) -> None:
    out = Tty()
    view = LineView(out, Tty(), LineOptions())
    view.answer(f"a **b** {reference}")
    assert _is_harmless(out.getvalue())
    assert "\x1b[1mb\x1b[0m" in out.getvalue()


def test_a_call_whose_arguments_did_not_travel_says_so() -> None:
    err = io.StringIO()
    view = LineView(io.StringIO(), err, LineOptions(no_color=True))
    show(view, events.ToolCallBlockEvent(id="a", name="echo"))
    show(view, events.ToolCallBlockEvent(id="b", name="echo", input=msgspec.Raw(b"{}")))
    assert err.getvalue() == "-> echo(… arguments not shown)\n-> echo()\n"
