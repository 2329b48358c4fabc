"""The standard library's line editor, set up to take whatever a person types.

It works in the locale that the environment names, whatever encoding Python itself reads with: in
the C locale it takes a byte of an accented letter for a command, and refuses to recall the letter.
So where the two differ, the locale that it is told of is one that agrees with Python.
"""

from __future__ import annotations

import codecs
import importlib
import io
import locale
import os
from collections.abc import Callable
from typing import Protocol, TextIO, cast

UNIVERSAL = ("C.UTF-8", "C.utf8", "en_US.UTF-8", "POSIX.UTF-8")
"""Locales of which a system that has UTF-8 has one."""

_UTF_8 = "utf-8"
_EIGHT_BITS = ("set input-meta on", "set output-meta on", "set convert-meta off")
"""Every byte of a letter is text, none a command."""


class Editor(Protocol):
    """What is used of the module ``readline``."""

    def add_history(self, line: str, /) -> None:
        """Let a line be recalled."""
        ...

    def get_current_history_length(self) -> int:
        """Return how many lines can be recalled."""
        ...

    def remove_history_item(self, position: int, /) -> None:
        """Forget a line."""
        ...

    def set_auto_history(self, enabled: bool, /) -> None:  # noqa: FBT001 - the library's own form
        """Say whether lines are recalled by themselves."""
        ...

    def parse_and_bind(self, order: str, /) -> None:
        """Take one line of settings."""
        ...

    def set_startup_hook(self, hook: Callable[[], None] | None, /) -> None:
        """Call ``hook`` when a line opens."""
        ...

    def insert_text(self, text: str, /) -> None:
        """Type ``text`` into the line."""
        ...


def load(stdin: TextIO) -> Editor | None:
    """Return the editor, fit for what is typed on ``stdin``; ``None`` where Python has none.

    A stream that could only read ASCII reads UTF-8 from now on, and a stray byte as U+FFFD. Call
    it before the first line is read.
    """
    encoding = _settled(stdin)
    if encoding != _codec(locale.nl_langinfo(locale.CODESET)):
        _adopt(encoding)
    try:
        editor = cast("Editor", importlib.import_module("readline"))
    except ImportError:  # an interpreter built without it: lines are typed without recall
        return None
    for order in _EIGHT_BITS:
        editor.parse_and_bind(order)
    return editor


def fits(text: str) -> bool:
    """Say whether the editor can be given ``text``: no locale may have been found that agrees."""
    try:
        text.encode(locale.nl_langinfo(locale.CODESET))
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _settled(stdin: TextIO) -> str:
    """Return the encoding that ``stdin`` reads from now on."""
    encoding = _codec(stdin.encoding or _UTF_8)
    wanted = _UTF_8 if encoding == "ascii" else encoding
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(encoding=wanted, errors="replace")
        return wanted
    return encoding


def _adopt(encoding: str) -> None:
    """Give the editor a UTF-8 locale where UTF-8 is read; nobody else is started from here on."""
    if encoding != _UTF_8:
        return
    for name in UNIVERSAL:
        try:
            locale.setlocale(locale.LC_CTYPE, name)
        except locale.Error:
            continue
        os.environ["LC_ALL"] = name  # the editor reads it anew for every line
        return


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return name
