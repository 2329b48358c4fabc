"""Asking the person at this terminal: approvals and questions as lines, one at a time.

Questions go to standard error and answers come from standard input; nobody is asked unless both are
terminals. An interrupt or a closed input ends the question without an answer; no decision is made
up for it. A terminal that hung up ends none: it stays open until whoever asks gives it up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count
from string import ascii_lowercase
from typing import TextIO, TypeVar

from fisk_ai.errors import FiskError, PromptAbortedError
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.text.sanitise import for_display, for_terminal, truncate
from fisk_ai.toolkit.prompter import NO_OPERATOR_REASON, Choice, GateRequest

NAME_LIMIT = 120
"""Code points of a command or a tag in a question."""

COMMAND_LINE_LIMIT = 2_000
"""Code points of the command line to approve: as much as a gate ever renders."""

OPTION_LIMIT = 400
"""Code points of one option of a list."""

QUESTION_LIMIT = 4_000
"""Code points of a question: more would push its beginning off the screen."""

ANSWER_LIMIT = 4_096
"""Code points of a typed answer: a paste that went wrong is noticed before it is sent."""

_NOT_DECIDED = "no decision: the command does not run now, and is asked about again if called again"
_NOT_ANSWERED = "no answer: the agent is told that nobody answered"
"""What it means to leave a question, which a person cannot guess."""

_T = TypeVar("_T")
_CHOICES: tuple[Choice, ...] = ("no", "once", "always")
_APPROVALS: Mapping[str, int] = {"n": 0, "no": 0, "once": 1, "always": 2}
"""Words for the choices; "yes" is none, for it does not say how often."""

_CONFIRMATIONS: Mapping[str, int] = {"n": 0, "no": 0, "y": 1, "yes": 1}


def person_present(stdin: TextIO, stderr: TextIO) -> bool:
    """Say whether a person can be asked: can type on ``stdin`` and see questions on ``stderr``."""
    return Keyboard(stdin).is_terminal() and not stderr.closed and stderr.isatty()


@dataclass(slots=True)
class TerminalPrompter:
    """A prompter for one terminal; ``hung_up`` is told when it is gone, and is to give up."""

    keyboard: Keyboard
    err: TextIO
    hung_up: Callable[[], None] | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _cancel: Callable[[], bool] | None = None

    def can_prompt(self) -> bool:
        """Say whether a person can be asked here."""
        return person_present(self.keyboard.stream, self.err)

    def abort(self) -> bool:
        """Interrupt the question that is open; say whether there was one."""
        return self._cancel is not None and self._cancel()

    async def approve(self, request: GateRequest) -> Choice:
        """Ask whether a gated call may run; ``no`` comes first and is the default."""
        return await self._asked(partial(self._approve, request), otherwise=_NOT_DECIDED)

    async def confirm(self, tool_use_id: str, question: str) -> bool:
        """Ask yes or no; no is the default."""
        return await self._asked(partial(self._confirm, question))

    async def select(self, tool_use_id: str, question: str, options: Sequence[str]) -> int:
        """Ask for one of ``options``; a bare Enter chooses none and returns -1."""
        return await self._asked(partial(self._select, question, options))

    async def input(self, tool_use_id: str, question: str, default: str) -> str:
        """Ask for a text; a bare Enter takes ``default``."""
        return await self._asked(partial(self._input, question, default))

    async def _asked(
        self,
        question: Callable[[], Coroutine[object, object, _T]],
        *,
        otherwise: str = _NOT_ANSWERED,
    ) -> _T:
        async with self._lock:
            if not self.can_prompt():
                raise FiskError(NO_OPERATOR_REASON)
            task = asyncio.ensure_future(question())
            self._cancel = task.cancel
            try:
                return await task
            except EOFError as exc:
                self._say(f"\n{otherwise}")
                raise PromptAbortedError("the input was closed before the answer") from exc
            except asyncio.CancelledError:
                if _cancelling():
                    self._say("")
                    raise
                self._say(f"\n{otherwise}")
                raise PromptAbortedError("the question was interrupted") from None
            finally:
                self._cancel = None

    async def _approve(self, request: GateRequest) -> Choice:
        command = for_terminal(request.command, NAME_LIMIT)
        self._say(f"\nconfirmation required: {_why(request, command)}")
        self._say(f"-> {for_terminal(request.display, COMMAND_LINE_LIMIT)}")
        options = (
            "No, do not run it",
            "Yes, run it once",
            f'Yes, and allow "{command}" (any arguments) for the rest of this conversation',
        )
        position = await self._pick("Run this command?", options, words=_APPROVALS, default=0)
        choice = _CHOICES[position]
        if choice == "always":
            self._say(f'confirmation: will not ask again for "{command}" in this conversation')
        return choice

    async def _confirm(self, question: str) -> bool:
        options = ("No", "Yes")
        words = _CONFIRMATIONS
        return await self._pick(_quoted(question), options, words=words, default=0) == 1

    async def _select(self, question: str, options: Sequence[str]) -> int:
        words = _unambiguous(options)
        return await self._pick(_quoted(question), options, words=words, default=-1)

    async def _input(self, question: str, default: str) -> str:
        shown = f" [{for_terminal(default, OPTION_LIMIT)}]" if default else ""
        self._say(f"{_quoted(question)}{shown}")
        while len(typed := await self._line("> ")) > ANSWER_LIMIT:
            self._say(f"the answer is longer than {ANSWER_LIMIT} characters; type a shorter one")
        return typed or default

    async def _pick(
        self, question: str, options: Sequence[str], *, words: Mapping[str, int], default: int
    ) -> int:
        """Ask until one of ``words``, a mark of the list or a bare Enter was typed.

        Enter is ``default``; ``words`` are folded to one case, and count before a mark.
        """
        marks = _marks(options)
        self._say(question)
        for mark, option in zip(marks, options, strict=True):
            self._say(f"  {mark}) {for_terminal(option, OPTION_LIMIT)}")
        hint = f" [{default + 1}]" if default >= 0 else ""
        while True:
            typed = (await self._line(f"answer{hint}: ")).strip()
            if not typed:
                return default
            answer = _folded(typed)
            if answer in words:
                return words[answer]
            if answer.lstrip("0") in marks:
                return marks.index(answer.lstrip("0"))
            told = ", ".join(words) if words in (_APPROVALS, _CONFIRMATIONS) else "an option's text"
            self._say(f"type {_kind(marks[0])} from {marks[0]} to {marks[-1]}, or {told}")

    async def _line(self, prompt: str) -> str:
        self.keyboard.forget()
        print(prompt, end="", file=self.err, flush=True)
        try:
            return await self.keyboard.line()
        except EOFError:
            if self.hung_up is None or not self.keyboard.is_gone():
                raise
            self.hung_up()
            return await asyncio.get_running_loop().create_future()

    def _say(self, line: str) -> None:
        print(line, file=self.err, flush=True)


def _unambiguous(options: Sequence[str]) -> dict[str, int]:
    """Return the positions of the options that can be told by their text, as it is shown."""
    texts = [_shown(option) for option in options]
    return {text: at for at, text in enumerate(texts) if text and texts.count(text) == 1}


def _marks(options: Sequence[str]) -> list[str]:
    """Return what options are told apart by, none of it the text of one.

    Numbers, or letters where a number is an option, or else numbers behind as many # as it takes.
    """
    texts = {_shown(option) for option in options}
    texts |= {text.lstrip("0") for text in texts}
    numbers = [str(number) for number in range(1, len(options) + 1)]
    signed = ([f"{'#' * signs}{number}" for number in numbers] for signs in count(1))
    letters = list(ascii_lowercase[: len(options)])
    marks = chain([numbers], [letters] * (len(letters) == len(options)), signed)
    return next(each for each in marks if not texts.intersection(each))


def _kind(mark: str) -> str:
    if mark.isdigit():
        return "a number"
    return "a letter" if mark.isalpha() else "a number with its sign"


def _shown(option: str) -> str:
    return _folded(for_terminal(option, OPTION_LIMIT))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _why(request: GateRequest, command: str) -> str:
    tag = for_terminal(request.tag, NAME_LIMIT)
    carries = f'"{command}" carries tag "{tag}"' if tag else f'"{command}"'
    if not request.in_doubt:
        return carries
    return f"the last run was cut off during this call, so it may already have run: {carries}"


def _quoted(question: str) -> str:
    """Set a model's words apart, so that no line of them looks like one of ours."""
    lines = truncate(for_display(question), QUESTION_LIMIT).split("\n")
    return "\n".join(["\nthe agent asks:", *(f"  {line}" for line in lines)])


def _cancelling() -> bool:
    """Say whether this very task is being cancelled, as when the question was given up."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
