"""The ``fisk-ai`` command: finds the subcommand, runs it, and words every way it can fail.

Whatever happens, a person reads one sentence on standard error and the exit code is 0 or 1; there
is no traceback. SIGTERM and SIGHUP are interrupts like SIGINT, from the first line on, and no
signal counts behind a SIGHUP: it seldom comes alone, and who sent it is gone. What ``--help`` and
``--version`` need is in the standard library.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from fisk_ai import imports, oserror
from fisk_ai.cli.arguments import BadArgumentsError
from fisk_ai.cli.commentary import commentary
from fisk_ai.cli.result import result
from fisk_ai.cli.tree import COMMANDS, find, listing, not_built, subcommand_required
from fisk_ai.cli.undisturbed import undisturbed
from fisk_ai.errors import FiskError, NotBuiltError, SetupError
from fisk_ai.text.sanitise import for_display
from fisk_ai.version import __version__

PROGRAM = "fisk-ai"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 1 for every failure."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup asks
        signal.signal(signal.SIGHUP, _hung_up)
    try:
        status = _guarded(sys.argv[1:] if argv is None else list(argv))
        if argv is None:
            _let_it_end()
    except KeyboardInterrupt:
        status = 1
    return status if _let_go_of_streams() else 1


def _let_it_end() -> None:
    """Take no signal any more: all is done, and one would choose the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _hung_up(_number: int, _frame: FrameType | None) -> None:
    _let_it_end()
    raise KeyboardInterrupt


def _guarded(argv: Sequence[str]) -> int:
    try:
        _open_standard_streams()
        status = _status(argv)
        sys.stdout.flush()  # here, so that a result that cannot be written is a failure in words
    except BrokenPipeError:
        return 1
    except (Exception, KeyboardInterrupt) as exc:  # noqa: BLE001 - the process's last barrier
        with contextlib.suppress(OSError):
            print(_worded(exc), file=sys.stderr)
        return 1
    return status


def _status(argv: Sequence[str]) -> int:
    try:
        return _dispatch(argv)
    except SystemExit as exc:  # argparse leaves this way after --help
        return 0 if exc.code in (None, 0) else 1


def _worded(exc: BaseException) -> str:
    """Return what a person reads of a failure; control characters of foreign text are removed."""
    if isinstance(exc, BadArgumentsError):
        return f"error: {exc}\n\n{exc.usage.rstrip()}"
    if isinstance(exc, FiskError):
        message = str(exc)
    elif isinstance(exc, (KeyboardInterrupt, EOFError)):
        message = "interrupted"
    elif isinstance(exc, (OSError, MemoryError)):
        message = _reason(exc)
    else:
        message = f"a bug in {PROGRAM}: {type(exc).__name__}: {exc}"
    return f"{PROGRAM}: error: {for_display(message)}"


def _dispatch(argv: Sequence[str]) -> int:
    word = argv[0] if argv else None
    if word in ("-h", "--help"):
        print(_help())
        return 0
    if word == "--version":
        print(__version__)
        return 0
    command = find(COMMANDS, word) if word else None
    if command is None:
        raise subcommand_required(COMMANDS, word, prog=PROGRAM)
    if not command.module:
        raise NotBuiltError(not_built(command, COMMANDS, prog=PROGRAM), key=command.name)
    with undisturbed(), imports.uncollected():  # cut short inside ``exec``, Python ends by SIGINT
        module = importlib.import_module(command.module)
    status: int = module.execute(list(argv[1:]))
    return status


def _help() -> str:
    return (
        f"usage: {PROGRAM} [--help] [--version] COMMAND ...\n\n"
        "Turn a command-line application into a safe, durable LLM agent.\n\n"
        f"commands:\n{listing(COMMANDS)}\n\n"
        f"'{PROGRAM} COMMAND --help' says more about one of them."
    )


def _reason(exc: OSError | MemoryError) -> str:
    if isinstance(exc, FileNotFoundError) and not exc.filename and _is_nowhere():
        return "the working directory is gone; change to one that is there"
    return oserror.in_words(exc)


def _is_nowhere() -> bool:
    """Say whether the working directory was removed: relative paths then mean nothing."""
    try:
        os.getcwd()  # noqa: PTH109 - nothing else here needs pathlib
    except OSError:
        return True
    return False


def _open_standard_streams() -> None:
    """Make descriptors 0 to 2 exist, and let no text fail for want of an encoding.

    A closed descriptor would be taken by the next file opened, which then receives our output.

    Raises:
        SetupError: there is no standard output, and so no place for a result.
    """
    closed = [descriptor for descriptor in range(3) if not _is_open(descriptor)]
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)  # the lowest that is free, which is the next one closed
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - closed when we started
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - kept
    sys.stdout = result(sys.stdout)
    sys.stderr = commentary(sys.stderr)
    if 1 in closed:
        raise SetupError(
            "standard output is closed, so the result would be lost and nothing was started; "
            "send it to a file, or to /dev/null"
        )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _let_go_of_streams() -> bool:
    """Flush both streams and say whether all of it went out.

    What cannot be written goes nowhere, so that the interpreter's own flush at the end neither
    complains nor chooses an exit code.
    """
    whole = True
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        try:
            stream.flush()
        except OSError:
            whole = False
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, descriptor)
            os.close(sink)
    return whole
