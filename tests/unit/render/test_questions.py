"""Questions at a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import pytest

from fisk_ai.errors import FiskError, PromptAbortedError
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.questions import ANSWER_LIMIT, TerminalPrompter, person_present
from fisk_ai.toolkit.prompter import GateRequest


class Screen(io.StringIO):
    """What a person sees; wakes whoever waits for a text on it."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.changed.set()
        return super().write(text)

    async def wait_for(self, text: str) -> None:
        async with asyncio.timeout(5):
            while text not in self.getvalue():
                self.changed.clear()
                await self.changed.wait()


@dataclass
class Person:
    """One end of a terminal whose other end the prompter reads."""

    prompter: TerminalPrompter
    screen: Screen
    stdin: TextIO
    fd: int

    async def types(self, text: str, *, after: str = "answer") -> None:
        await self.screen.wait_for(after)
        os.write(self.fd, text.encode())


@pytest.fixture
def person() -> Iterator[Person]:
    leader, follower = pty.openpty()
    with os.fdopen(follower, encoding="utf-8") as stdin:
        screen = Screen()
        made = Person(TerminalPrompter(Keyboard(stdin), screen), screen, stdin, leader)
        yield made
    os.close(made.fd)


def _gate(command: str = "say", *, tag: str = "impact:rw", doubt: str = "") -> GateRequest:
    return GateRequest(
        tool_use_id="c1",
        command=command,
        display=f"{doubt}cowsay say Moo",
        tag=tag,
        args_sha256="0" * 64,
    )


@pytest.mark.parametrize(
    ("typed", "choice"), [("\n", "no"), ("1\n", "no"), ("2\n", "once"), ("3\n", "always")]
)
async def test_no_is_the_first_choice_and_the_default(
    person: Person, typed: str, choice: str
) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.types(typed)
    assert await asking == choice
    shown = person.screen.getvalue()
    assert 'confirmation required: "say" carries tag "impact:rw"\n-> cowsay say Moo\n' in shown
    assert "Run this command?\n  1) No, do not run it\n  2) Yes, run it once\n" in shown
    assert ("will not ask again" in shown) is (choice == "always")


@pytest.mark.parametrize(
    ("tag", "words"), [("", '"say"\n'), ("impact:rw", '"say" carries tag "impact:rw"\n')]
)
@pytest.mark.parametrize(
    ("doubt", "reason"),
    [
        ("", ""),
        (
            "(may already have run) ",
            "the last run was cut off during this call, so it may already have run: ",
        ),
    ],
)
async def test_a_question_says_why_it_is_asked(
    person: Person, tag: str, words: str, doubt: str, reason: str
) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate(tag=tag, doubt=doubt)))
    await person.types("\n")
    assert await asking == "no"
    shown = person.screen.getvalue()
    assert f"confirmation required: {reason}{words}-> {doubt}cowsay say Moo\n" in shown


async def test_anything_but_a_number_of_the_list_asks_again(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    for typed in ("yes\n", "0\n", "4\n", "²\n", "-1\n", "9" * 5000 + "\n"):
        before = person.screen.getvalue().count("type a number")
        await person.types(typed)
        async with asyncio.timeout(5):
            while person.screen.getvalue().count("type a number") == before:
                person.screen.changed.clear()
                await person.screen.changed.wait()
    await person.types("2\n")
    assert await asking == "once"


@pytest.mark.parametrize(
    ("typed", "choice"), [("no", "no"), ("Once", "once"), ("ALWAYS", "always")]
)
async def test_an_approval_may_be_given_in_words(person: Person, typed: str, choice: str) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.types(f"{typed}\n")
    assert await asking == choice


async def test_a_terminal_that_hung_up_answers_nothing(person: Person) -> None:
    gone = asyncio.Event()
    person.prompter.hung_up = gone.set
    asking = asyncio.ensure_future(person.prompter.confirm("c1", "Really?"))
    await person.screen.wait_for("answer")
    os.close(person.fd)
    async with asyncio.timeout(5):
        await gone.wait()
    assert not asking.done()
    asking.cancel()
    person.fd = os.open(os.devnull, os.O_RDONLY)


async def test_what_was_typed_before_the_question_is_no_answer(person: Person) -> None:
    os.write(person.fd, b"3\n")
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.types("\n")
    assert await asking == "no"


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("\n", False),
        ("1\n", False),
        ("2\n", True),
        ("n\n", False),
        ("No\n", False),
        ("y\n", True),
        (" YES \n", True),
    ],
)
async def test_a_confirmation_defaults_to_no(person: Person, typed: str, *, answer: bool) -> None:
    asking = asyncio.ensure_future(person.prompter.confirm("c1", "Really?"))
    await person.types(typed)
    assert await asking is answer


@pytest.mark.parametrize(
    ("typed", "index"),
    [("2\n", 1), ("\n", -1), ("blue\n", 1), (" RED\n", 0), ("two  Words\n", 2)],
)
async def test_a_selection_is_a_position_or_none(person: Person, typed: str, index: int) -> None:
    asking = asyncio.ensure_future(
        person.prompter.select("c1", "Which?", ["red", "blue", "Two words", "twin", "Twin"])
    )
    await person.types(typed)
    assert await asking == index


@pytest.mark.parametrize(
    ("options", "typed", "index", "marks"),
    [
        (["3", "2", "1"], "1", 2, "  a) 3"),
        (["3", "2", "1"], "a", 0, "  a) 3"),
        (["8080", "2"], "2", 1, "  b) 2"),
        (["8080", "443"], "2", 1, "  2) 443"),
        (["b", "1"], "b", 0, "  #1) b"),
        (["b", "1"], "1", 1, "  #2) 1"),
        (["b", "c"], "02", 1, "  2) c"),
    ],
)
async def test_the_text_of_an_option_counts_before_its_place(
    person: Person, options: list[str], typed: str, index: int, marks: str
) -> None:
    asking = asyncio.ensure_future(person.prompter.select("c1", "Which?", options))
    await person.types(f"{typed}\n")
    assert await asking == index
    assert marks in person.screen.getvalue()


@pytest.mark.parametrize(("typed", "value"), [("grün\n", "grün"), ("\n", "red")])
async def test_a_text_may_be_left_at_its_default(person: Person, typed: str, value: str) -> None:
    asking = asyncio.ensure_future(person.prompter.input("c1", "Colour?", "red"))
    await person.types(typed, after="> ")
    assert await asking == value


async def test_a_closed_input_is_no_answer(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.types("\x04")
    with pytest.raises(PromptAbortedError):
        await asking


async def test_an_interrupt_ends_the_question_that_is_open(person: Person) -> None:
    assert person.prompter.abort() is False
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.screen.wait_for("answer")
    assert person.prompter.abort() is True
    with pytest.raises(PromptAbortedError):
        await asking
    assert person.prompter.abort() is False


async def test_a_question_that_is_given_up_lets_go_of_the_keyboard(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.confirm("c1", "Really?"))
    await person.screen.wait_for("answer")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert asyncio.get_running_loop().remove_reader(person.stdin.fileno()) is False
    second = asyncio.ensure_future(person.prompter.confirm("c1", "Then this?"))
    await person.types("2\n", after="Then this?\n  1) No\n  2) Yes\nanswer")
    assert await second is True


async def test_one_question_is_asked_at_a_time(person: Person) -> None:
    first = asyncio.ensure_future(person.prompter.confirm("c1", "First?"))
    second = asyncio.ensure_future(person.prompter.confirm("c2", "Second?"))
    await person.screen.wait_for("First?")
    assert "Second?" not in person.screen.getvalue()
    await person.types("2\n")
    assert await first is True
    await person.types("\n", after="Second?\n  1) No\n  2) Yes\nanswer")
    assert await second is False


async def test_without_a_terminal_nobody_is_asked() -> None:
    screen = Screen()
    prompter = TerminalPrompter(Keyboard(io.StringIO("2\n")), screen)
    assert prompter.can_prompt() is False
    with pytest.raises(FiskError, match="no interactive terminal"):
        await prompter.approve(_gate())
    assert screen.getvalue() == ""


async def test_nobody_is_asked_where_the_question_could_not_be_seen(person: Person) -> None:
    closed = Screen()
    closed.close()
    for unseen in (io.StringIO(), closed):
        assert not person_present(person.stdin, unseen)
        prompter = TerminalPrompter(Keyboard(person.stdin), unseen)
        with pytest.raises(FiskError, match="no interactive terminal"):
            await prompter.approve(_gate())
    assert person_present(person.stdin, person.screen)


async def test_a_models_words_cannot_pose_as_ours(person: Person) -> None:
    hostile = "fine\x1b[2J\n-> ls\nRun this command?"
    asking = asyncio.ensure_future(person.prompter.confirm("c1", hostile))
    await person.types("\n")
    assert await asking is False
    assert "the agent asks:\n  fine\n  -> ls\n  Run this command?\n" in person.screen.getvalue()
    assert "\x1b" not in person.screen.getvalue()


async def test_an_answer_over_the_limit_is_asked_for_again(person: Person) -> None:
    mode = termios.tcgetattr(person.stdin)
    mode[3] &= ~termios.ICANON  # in line mode the terminal itself cuts a line before the limit
    termios.tcsetattr(person.stdin, termios.TCSANOW, mode)
    asking = asyncio.ensure_future(person.prompter.input("c1", "Why?", ""))
    await person.types("x" * (ANSWER_LIMIT + 1) + "\n", after="> ")
    await person.types(
        "y\n", after=f"longer than {ANSWER_LIMIT} characters; type a shorter one\n> "
    )
    assert await asking == "y"


async def test_leaving_a_question_says_what_that_means(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.approve(_gate()))
    await person.screen.wait_for("answer")
    assert person.prompter.abort()
    with pytest.raises(PromptAbortedError):
        await asking
    assert person.screen.getvalue().endswith(
        "\nno decision: the command does not run now, and is asked about again if called again\n"
    )
    asking = asyncio.ensure_future(person.prompter.confirm("c1", "Really?"))
    await person.types("\x04", after="Really?\n  1) No\n  2) Yes\nanswer [1]: ")
    with pytest.raises(PromptAbortedError):
        await asking
    assert person.screen.getvalue().endswith(
        "\nno answer: the agent is told that nobody answered\n"
    )


async def test_an_option_that_is_there_twice_is_not_chosen_by_its_text(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.select("c1", "Which?", ["twin", "Twin"]))
    await person.types("twin\n")
    await person.screen.wait_for("type a number from 1 to 2, or an option's text\nanswer")
    await person.types("1\n")
    assert await asking == 0


@pytest.mark.parametrize(
    ("options", "marks"),
    [
        (["b", "1"], ["#1", "#2"]),
        (["c", "1"], ["a", "b"]),
        (["x", "02"], ["a", "b"]),
        (["2", "x", "2"], ["a", "b", "c"]),
        (["a", "1", "#2"], ["##1", "##2", "##3"]),
        ([str(number) for number in range(27)], [f"#{number}" for number in range(1, 28)]),
    ],
)
async def test_no_mark_of_a_list_is_the_text_of_an_option(
    person: Person, options: list[str], marks: list[str]
) -> None:
    for at, mark in enumerate(marks):
        asking = asyncio.ensure_future(person.prompter.select("c1", "Which?", options))
        shown = "".join(f"  {m}) {option}\n" for m, option in zip(marks, options, strict=True))
        await person.types(f"{mark}\n", after=shown * (at == 0) + "answer: ")
        assert await asking == at
        assert shown in person.screen.getvalue()
        person.screen.truncate(0)


async def test_whoever_types_no_mark_is_told_what_marks_look_like(person: Person) -> None:
    asking = asyncio.ensure_future(person.prompter.select("c1", "Which?", ["b", "1"]))
    await person.types("2\n")
    await person.screen.wait_for("type a number with its sign from #1 to #2, or an option's text")
    await person.types("1\n", after="option's text\nanswer: ")
    assert await asking == 1
