"""How a command line is read: parsers that raise instead of exiting, and what a flag remembers.

A flag that nobody typed is ``None``, so that a refusal can tell what a person meant from what an
exported variable happens to say. A flag that does not exist may be a known one misspelled, and what
follows it a key: refusals name such a flag and never show its value. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from fisk_ai.errors import UsageError
from fisk_ai.render.width import columns_of
from fisk_ai.text.sanitise import clean_surrogates

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DEFAULT_CONFIG = "agent.yaml"
"""The configuration of a command that is given none."""

_OFF = frozenset({"", "0", "f", "false", "n", "no", "off"})
"""Spellings with which an exported twin of a boolean flag says no."""

_UNKNOWN = "unrecognized arguments: "
_VALUE_OF_SWITCH = "ignored explicit argument "
_WANTS_VALUE = re.compile(r"argument (--[a-z-]+): expected one argument")
_FLAG = re.compile(r"--[a-z]+(?:-[a-z]+)*(?![a-z0-9])|-[a-z]", re.IGNORECASE)
_NAME_LIMIT = 24
"""Code points of a name that is shown; flags and commands are shorter, and keys are longer."""

_MARGIN = 2
"""Columns that argparse, too, leaves free at the edge."""

_COMMAND = re.compile(r"[a-z]+")


class BadArgumentsError(UsageError):
    """The arguments do not parse; ``usage`` is what to print below the message."""

    def __init__(self, message: str, *, usage: str) -> None:
        """Keep the usage text beside the message."""
        super().__init__(message)
        self.usage = usage


class _Formatter(argparse.HelpFormatter):
    """Lays help out for the terminal it is read on; a usage below an error is no wider."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns_of(sys.stdout) - _MARGIN)


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose refusals are errors of ours, with exit code 1 like all others."""

    def __init__(self, prog: str, description: str, *, words: str = "") -> None:
        """Read no abbreviation: a flag added later must not change what an old script means.

        ``words`` is what free words are to this command, as in "a prompt": whoever gave some that
        look like a flag reads where they belong.
        """
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            formatter_class=_Formatter,
        )
        self._words = words

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - the overload in use
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read a value that begins with a dash as one, unless it is a flag of this command."""
        words = self._with_dashed_values(sys.argv[1:] if args is None else args)
        return super().parse_known_args(words, namespace or argparse.Namespace())

    def _with_dashed_values(self, words: Sequence[str]) -> list[str]:
        joined: list[str] = []
        for word in words:
            flag = joined[-1] if joined else ""
            is_value = word.startswith("-") and word not in (*self._option_string_actions, "--")
            if is_value and self._takes_value(flag):
                joined[-1] = f"{flag}={word}"
            else:
                joined.append(word)
        return joined

    def _takes_value(self, flag: str) -> bool:
        action = self._option_string_actions.get(flag)
        return action is not None and action.nargs is None

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments.

        Raises:
            BadArgumentsError: always.
        """
        refused = _without_values(message)
        if self._words and (_UNKNOWN in message or _VALUE_OF_SWITCH in message):
            example = f"{self.prog} -- ..."
            refused += f"; write {self._words} that begins with a dash behind --, as in: {example}"
        raise BadArgumentsError(refused, usage=self.format_usage())

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help; inside :func:`parser_of`, hand over this parser in place of that."""
        if _asked.get():
            raise _Described(self)
        super().print_help(file)

    def switch(self, flag: str, text: str) -> None:
        """Add a boolean flag: ``True`` when typed, ``None`` otherwise, never negatable."""
        self.add_argument(flag, action="store_const", const=True, default=None, help=text)

    def value(self, flag: str, metavar: str, text: str, *, repeatable: bool = False) -> None:
        """Add a flag that takes one value; ``None`` when it was not typed, a list when repeatable.

        Parsing raises UsageError for a value that is no text.
        """
        self.add_argument(
            flag,
            metavar=metavar,
            action="append" if repeatable else "store",
            type=partial(_text, flag),
            default=None,
            help=text,
        )


def _text(flag: str, word: str) -> str:
    if clean_surrogates(word) != word:
        raise UsageError(
            f"the value of {flag} holds bytes that are no text in this locale; "
            "write it in the locale's encoding",
            key=flag,
        )
    return word


class _Described(Exception):
    """Carries a finished parser out of the command that would have used it."""

    def __init__(self, parser: CommandParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


_asked: ContextVar[bool] = ContextVar("_asked", default=False)


def parser_of(execute: Callable[[Sequence[str]], object], *words: str) -> CommandParser:
    """Return the parser with which ``execute`` reads what stands behind ``words``; nothing runs.

    So there is one description of every command: the parser that it uses.

    Raises:
        LookupError: the command came to its end without a parser.
    """
    token = _asked.set(True)
    try:
        execute((*words, "--help"))
    except _Described as described:
        return described.parser
    finally:
        _asked.reset(token)
    raise LookupError(f"no parser reads {' '.join(words)!r}")


def shown_word(word: str) -> str:
    """Return a word that may be shown where a command was expected; empty when it may be a key."""
    if word.startswith("-"):
        return _flag_name(word)
    return word if _COMMAND.fullmatch(word) and len(word) <= _NAME_LIMIT else ""


def exported(environ: Mapping[str, str], name: str) -> bool:
    """Say whether the boolean variable ``name`` is on; an odd spelling never fails a command."""
    return environ.get(name, "").strip().lower() not in _OFF


def split_verb(argv: Sequence[str], valued: frozenset[str]) -> tuple[str | None, list[str]]:
    """Find the first word that is neither a flag nor the value of one in ``valued``.

    Returns:
        The word, ``None`` when there is none, and the arguments without it.
    """
    skip = False
    for index, word in enumerate(argv):
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif not word.startswith("-"):
            return word, [*argv[:index], *argv[index + 1 :]]
    return None, list(argv)


def _without_values(message: str) -> str:
    """Return argparse's refusal without the values it repeats."""
    if message.startswith(_UNKNOWN):
        return _UNKNOWN + _first_unknown(message.removeprefix(_UNKNOWN).split(" "))
    refused, found, _ = message.partition(_VALUE_OF_SWITCH)
    if found:
        return f"{refused}takes no value"
    flag = _WANTS_VALUE.fullmatch(message)
    if flag:
        return f"{message}; write {flag[1]}=VALUE where it is spelled like a flag"
    return message


def _first_unknown(words: Sequence[str]) -> str:
    """Name the first flag alone: whatever comes behind it may be its value."""
    for word in words:
        if word.startswith("-"):
            return _flag_name(word) or "a flag that is none"
    return "more words than it takes"


def _flag_name(word: str) -> str:
    found = _FLAG.match(word)
    return found[0] if found and len(found[0]) <= _NAME_LIMIT else ""
