"""The input line of a chat in a process of its own, with and without a line editor."""

from __future__ import annotations

import codecs
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

_PROGRAM = """
import asyncio, sys
if {without_editor}:
    sys.modules["readline"] = None
from fisk_ai.render.prompt_line import PromptLine

async def main():
    line = PromptLine(sys.stdin)
    kept = ""
    while True:
        reading = asyncio.ensure_future(line.read(kept))
        if {leave}:
            asyncio.get_running_loop().add_signal_handler(15, reading.cancel)
        try:
            typed = await reading
        except EOFError:
            print("closed")
            return
        except asyncio.CancelledError:
            print("left")
            return
        line.remember(typed)
        kept = typed[4:] if typed.startswith("keep") else ""
        print("typed", ascii(typed), flush=True)

asyncio.run(main())
"""
_WAIT_S = 15.0
_UTF_8: Mapping[str, str] = {"LC_ALL": "C.UTF-8"}
_LOCALES: tuple[Mapping[str, str], ...] = (
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "", "LANG": "C", "PYTHONUTF8": "1", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "no_SUCH.locale"},
)


class Program:
    """The program above at a terminal."""

    def __init__(
        self, *, without_editor: bool, leave: bool, term: str, locale: Mapping[str, str]
    ) -> None:
        self.leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (24, 100))
        self.before = termios.tcgetattr(follower)[:4]
        self.seen = self.everything = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may cut a letter
        code = _PROGRAM.format(without_editor=without_editor, leave=leave)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**os.environ, "TERM": term, "INPUTRC": os.devnull, **locale},
            start_new_session=True,
        )
        os.close(follower)
        self.shows("> ")

    def shows(self, text: str) -> None:
        """Wait until ``text`` was shown behind what was waited for before."""
        deadline = time.monotonic() + _WAIT_S
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.leader], [], [], 0.1)[0]:
                read = self.decoder.decode(os.read(self.leader, 4096))
                self.seen += read
                self.everything += read
        self.seen = self.seen.partition(text)[2]

    def press(self, keys: bytes, shown: str) -> None:
        os.write(self.leader, keys)
        self.shows(shown)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.leader)


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    """Starts the program; nothing of it outlives the test."""
    started: list[Program] = []

    def make(
        *,
        without_editor: bool = False,
        leave: bool = False,
        term: str = "xterm",
        locale: Mapping[str, str] = _UTF_8,
    ) -> Program:
        started.append(
            Program(without_editor=without_editor, leave=leave, term=term, locale=locale)
        )
        return started[-1]

    yield make
    for program in started:
        program.close()


@pytest.mark.parametrize("without_editor", [False, True])
def test_a_line_is_read_whatever_its_bytes(
    start: Callable[..., Program], *, without_editor: bool
) -> None:
    program = start(without_editor=without_editor)
    program.press("grüße\n".encode(), "typed 'gr\\xfc\\xdfe'")
    program.shows("> ")
    program.press(b"a\xffb\n", "typed 'a\\ufffdb'")
    program.shows("> ")
    program.press(b"one\ntwo\nthree\n", "typed 'one\\ntwo\\nthree'")
    program.shows("> ")
    program.press(b"\x04", "closed")


@pytest.mark.parametrize("locale", _LOCALES)
def test_every_letter_is_read_recalled_and_mended_in_any_locale(
    start: Callable[..., Program], locale: Mapping[str, str]
) -> None:
    program = start(locale=locale)
    program.press("grüße 喜\n".encode(), "typed 'gr\\xfc\\xdfe \\u559c'")
    program.shows("> ")
    program.press(b"\x1b[A!\n", "typed 'gr\\xfc\\xdfe \\u559c!'")
    program.shows("> ")
    program.press("keepé\n".encode(), "typed 'keep\\xe9'")
    program.shows("> é")
    program.press(b"!\n", "typed '\\xe9!'")


def test_an_editor_recalls_completes_a_paste_and_keeps_what_is_to_be_mended(
    start: Callable[..., Program],
) -> None:
    program = start()
    program.press(b"moo\n", "typed 'moo'")
    program.shows("> ")
    program.press(b"\x1b[Ase\n", "typed 'moose'")
    program.shows("> ")
    program.press(b"\x1b[200~one\ntwo\n\x1b[201~\n", "typed 'one\\ntwo\\n'")
    program.shows("> ")
    program.press(b"keepsake\n", "typed 'keepsake'")
    program.shows("> sake")
    program.press(b"\x01for the \n", "typed 'for the sake'")


@pytest.mark.parametrize("without_editor", [False, True])
def test_a_line_that_is_given_up_leaves_the_terminal_as_it_was(
    start: Callable[..., Program], *, without_editor: bool
) -> None:
    program = start(without_editor=without_editor, leave=True)
    program.press(b"half", "half")
    program.process.terminate()
    program.shows("left")
    assert program.process.wait(_WAIT_S) == 0
    assert termios.tcgetattr(program.leader)[:4] == program.before


def test_a_terminal_without_a_name_is_given_no_orders(start: Callable[..., Program]) -> None:
    program = start(term="dumb", leave=True)
    program.press(b"moo\n", "typed 'moo'")
    program.shows("> ")
    program.process.terminate()
    program.shows("left")
    assert "\x1b" not in program.everything


def test_what_was_typed_too_early_is_taken_off_the_screen(start: Callable[..., Program]) -> None:
    program = start()
    program.press(b"moo\n", "typed 'moo'")
    program.shows("\r\x1b[K")
