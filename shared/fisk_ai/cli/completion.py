"""``fisk-ai completion``: a script that lets a shell complete commands, flags, files and sessions.

It is generated from the command tree and from the parsers the commands use, so that there is no
second list of flags. Rules: ``docs/reference/commands.md``.
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fisk_ai.cli import completion_scripts as scripts
from fisk_ai.cli.arguments import CommandParser, parser_of
from fisk_ai.cli.completion_scripts import Argument, Flag, Kind, Place
from fisk_ai.cli.tree import COMMANDS, NOT_BUILT, Command
from fisk_ai.errors import FiskError, UsageError
from fisk_ai.text.ids import valid_session_id

IDS_VERB = "ids"
"""What the scripts call to learn the session ids; not for people, so in no list."""

IDS_LIMIT = 200
"""Sessions that are offered, newest first; nobody chooses from more."""

_SHELLS = {"bash": scripts.bash, "zsh": scripts.zsh, "fish": scripts.fish}


def execute(argv: Sequence[str]) -> int:
    """Run ``fisk-ai completion`` with its arguments and return the exit code."""
    parser = CommandParser(
        "fisk-ai completion",
        'Print the script of a shell: bash and zsh run it with eval "$(fisk-ai completion bash)", '
        "fish with fisk-ai completion fish | source.",
    )
    parser.add_argument("shell", metavar="|".join(_SHELLS), help="the shell that is to complete")
    if argv[:1] == [IDS_VERB]:
        return _ids(argv[1:])
    shell = parser.parse_args(argv).shell
    if shell not in _SHELLS:
        raise UsageError(
            f"there is no completion for this shell; name one of {', '.join(_SHELLS)}", key="shell"
        )
    print(_SHELLS[shell](tuple(_places())), end="")
    return 0


def _ids(argv: Sequence[str]) -> int:
    """Print the newest sessions, one a line; none where there is no store to look at."""
    from fisk_ai.cli.stores import session_directory  # noqa: PLC0415 - no script needs it
    from fisk_ai.sessions.listing import SUFFIX  # noqa: PLC0415 - as above

    parser = CommandParser(f"fisk-ai completion {IDS_VERB}", "List session ids.")
    parser.value("--state-dir", "DIR", "the sessions in this directory")
    try:
        directory = session_directory(
            config_path=None,
            state_dir=parser.parse_args(argv).state_dir,
            root_dir=None,
            environ=os.environ,
        )
    except FiskError:
        return 0
    for name in _newest(directory, SUFFIX):
        print(name)
    return 0


def _newest(directory: Path | None, suffix: str) -> list[str]:
    """Return ids alone: a shell expands what it is offered, so no other name may get there."""
    try:
        entries = [] if directory is None else list(os.scandir(directory))
    except OSError:
        return []
    named = [(entry, entry.name.removesuffix(suffix)) for entry in entries]
    found = [
        (entry.stat().st_mtime, name)
        for entry, name in named
        if name != entry.name and valid_session_id(name)
    ]
    return [name for _, name in sorted(found, reverse=True)[:IDS_LIMIT]]


def _places() -> Iterator[Place]:
    """Return every place of the command line: before a command, and behind each of them."""
    built = [command for command in COMMANDS if command.module]
    yield Place(commands=_named(built), flags=(Flag("--help"), Flag("--version")))
    for command in built:
        module = importlib.import_module(command.module)
        verbs: Sequence[Command] = getattr(module, "VERBS", ())
        if verbs:
            yield Place(path=f"/{command.name}", commands=_named(verbs))
        else:
            yield _place("", command, parser_of(module.execute))
        for verb in verbs:
            yield _place(f"/{command.name}", verb, parser_of(module.execute, verb.name))


def _place(before: str, command: Command, parser: CommandParser) -> Place:
    actions = parser._actions  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - argparse tells what it knows nowhere else
    flags = (action for action in actions if action.option_strings)
    words = (_argument(action) for action in actions if not action.option_strings)
    return Place(
        path=f"{before}/{command.name}",
        others=tuple(f"{before}/{alias}" for alias in command.aliases),
        flags=tuple(_flag(action) for action in flags if not _is_later(action)),
        argument=next(words, Argument()),
    )


def _is_later(action: argparse.Action) -> bool:
    return (action.help or "").startswith(NOT_BUILT)


def _flag(action: argparse.Action) -> Flag:
    argument = Argument() if action.nargs == 0 else _argument(action)
    return Flag(action.option_strings[-1], action.help or "", argument)


def _argument(action: argparse.Action) -> Argument:
    """Say what an argument names, as far as a shell can complete it."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest
    if "|" in metavar:
        return Argument(kind="choice", choices=tuple(metavar.split("|")))
    return Argument(kind=_KINDS.get(metavar.lower(), "text"))


_KINDS: dict[str, Kind] = {"file": "file", "dir": "file", "id": "id", "ids": "id"}


def _named(commands: Sequence[Command]) -> tuple[tuple[str, str], ...]:
    return tuple((command.name, command.help) for command in commands)
