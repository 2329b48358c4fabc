"""The line in which a person types the next prompt: edited, recalled, and given up at any moment.

The standard library's line editor does the work where there is one; it can only wait, so it waits
in a thread of its own. A read that is given up leaves that thread behind, which ends with the
process: whoever gives up reads no more lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import termios
import threading
from collections.abc import Callable
from typing import TextIO

from fisk_ai.render import line_editor
from fisk_ai.render.keyboard import LINE_LIMIT_BYTES
from fisk_ai.render.line_editor import Editor
from fisk_ai.text.sanitise import clean_surrogates, for_display

PASTE_GAP_S = 0.02
"""How long after a line the next one may come and still belong to the same paste."""

HISTORY_LIMIT = 500
"""Prompts that can be recalled: more than anybody walks through."""

_PASTE_MARKS_OFF = "\x1b[?2004l"
"""Ends the terminal's marking of pastes, which an editor that was given up left on."""

_LINE_EMPTY = "\r\x1b[K"
"""Takes what was typed while nobody asked off the screen, as it is dropped."""

_NOT_SENT = "(not sent: what was entered before this line opened)\n"
"""It stays on the screen, where it looks like a prompt that was taken."""


class PromptLine:
    """Reads prompts at the terminal that is standard input and standard output."""

    def __init__(self, stdin: TextIO) -> None:
        """Borrow the terminal of ``stdin``; nothing is read before the first line."""
        self._stdin = stdin
        self._editor = line_editor.load(stdin)
        self._last = ""
        self._modes: list[object] | None = None

    async def read(self, kept: str = "") -> str:
        """Return what was typed, a paste of several lines as one text; ``kept`` is typed already.

        Cancelling leaves the terminal as it was found.

        Raises:
            EOFError: the input was closed, or Ctrl-D pressed on an empty line.
        """
        self._prepare(kept)
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[str] = loop.create_future()

        def wait() -> None:
            result = _outcome(self._stdin.fileno())
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, typed, result)

        threading.Thread(target=wait, name="prompt line", daemon=True).start()
        try:
            return clean_surrogates(await typed)
        except asyncio.CancelledError:
            self._restore()
            raise

    def remember(self, text: str) -> None:
        """Let ``text`` be recalled; the same one twice in a row is kept once."""
        editor = self._editor
        if editor is None or text == self._last or not line_editor.fits(text):
            return
        self._last = text
        editor.add_history(text)
        if editor.get_current_history_length() > HISTORY_LIMIT:
            editor.remove_history_item(0)

    def _prepare(self, kept: str) -> None:
        descriptor = self._stdin.fileno()
        entered = False
        with contextlib.suppress(termios.error, OSError):  # it went away: reading will say so
            entered = _drop_lines(descriptor)
            termios.tcflush(descriptor, termios.TCIFLUSH)  # typed while nobody asked
            self._modes = termios.tcgetattr(descriptor)
        if _obeys():
            self._show(_LINE_EMPTY)
        if entered:
            self._show(_NOT_SENT)
        editor = self._editor
        if kept and (editor is None or not line_editor.fits(kept)):
            self._show(f"(not sent: {for_display(kept)})\n")
        if editor is None:
            return
        editor.set_auto_history(False)
        if _obeys():
            editor.parse_and_bind("set enable-bracketed-paste on")
        editor.set_startup_hook(_typing(editor, kept) if kept else None)

    def _show(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _restore(self) -> None:
        if self._modes is None:
            return
        with contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(self._stdin.fileno(), termios.TCSADRAIN, self._modes)  # pyright: ignore[reportArgumentType] - what tcgetattr gave
        marks = _PASTE_MARKS_OFF if self._editor is not None and _obeys() else ""
        self._show(f"{marks}\n")


def _drop_lines(descriptor: int) -> bool:
    """Drop the lines that were entered while nobody asked; say whether any was not blank."""
    entered = False
    while select.select([descriptor], [], [], 0)[0]:
        line = os.read(descriptor, LINE_LIMIT_BYTES)
        if not line:  # Ctrl-D, which meant nobody
            break
        entered = entered or bool(line.strip())
    return entered


def _obeys() -> bool:
    """Say whether the terminal understands orders: any that has a name of its own."""
    return os.environ.get("TERM", "dumb") != "dumb"


def _typing(editor: Editor, text: str) -> Callable[[], None]:
    def insert() -> None:
        if line_editor.fits(text):
            editor.insert_text(text)

    return insert


def _outcome(descriptor: int) -> str | BaseException:
    """Read a line, and the lines behind it that were pasted with it."""
    try:
        lines = [input("> ")]
        while select.select([descriptor], [], [], PASTE_GAP_S)[0]:
            lines.append(input())
    except (EOFError, OSError, ValueError) as exc:  # closed, gone, or undecodable
        return exc if isinstance(exc, EOFError) else EOFError(str(exc))
    return "\n".join(lines)


def _settle(typed: asyncio.Future[str], outcome: str | BaseException) -> None:
    if typed.done():
        return
    if isinstance(outcome, str):
        typed.set_result(outcome)
    else:
        typed.set_exception(outcome)
