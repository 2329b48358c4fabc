"""The terminal of one ``fisk-ai run``: its person, its signals, and the dump of its messages."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fisk_ai.cli.interrupts import Interrupts
from fisk_ai.cli.run_flags import RunFlags
from fisk_ai.cli.wire_dump import FILE, Dump, open_dump
from fisk_ai.errors import UsageError
from fisk_ai.render.keyboard import Keyboard
from fisk_ai.render.questions import TerminalPrompter

if TYPE_CHECKING:
    from fisk_ai.render.prompt_line import PromptLine


@contextmanager
def at_terminal() -> Generator[tuple[TerminalPrompter, Interrupts]]:
    """Ask whoever sits there, and take the signals of this process, for the length of the block."""
    prompter = TerminalPrompter(Keyboard(sys.stdin), sys.stderr)
    interrupts = Interrupts(abort_question=prompter.abort)
    prompter.hung_up = interrupts.hang_up
    with interrupts.installed():
        yield prompter, interrupts


@contextmanager
def dumping() -> Generator[Dump]:
    """Write every message of the block to a file of the working directory."""
    dump, close = open_dump(Path.cwd())
    try:
        print(f"Dumping a2a messages to {FILE}", file=sys.stderr)
        yield dump
    finally:
        close()


def can_chat(flags: RunFlags) -> bool:
    """Say whether a person may go on after a turn, unless the configuration asks for one turn."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not flags.no_tui


def prompt_line() -> PromptLine:
    """Return where the prompts of a chat are typed."""
    from fisk_ai.render.prompt_line import PromptLine  # noqa: PLC0415 - it looks at the terminal

    return PromptLine(sys.stdin)


def no_prompt() -> UsageError:
    """Return the refusal of a run that has nothing to say."""
    return UsageError(
        "no prompt: give one as an argument, or --resume a conversation to continue", key="prompt"
    )
