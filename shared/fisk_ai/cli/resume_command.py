"""How a conversation is found again: the commands a person is told to type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fisk_ai.cli.quoting import command_line
from fisk_ai.cli.run_flags import RunFlags

ANSWER_FLAGS = {
    "ask_human_confirm": "--confirm",
    "ask_human_select": "--select",
    "ask_human_input": "--input",
}
"""What has to be added to the command that answers, by the tool that asked a person."""


def resume_command(session_id: str, flags: RunFlags) -> str:
    """Return the command that continues a session from any directory, with what finds it again."""
    return _command(
        ("run", "--resume", session_id),
        ("--config", flags.config_path),
        ("--script", flags.script),
        ("--worker", flags.worker),
        ("--state-dir", flags.state_dir),
        ("--root-dir", flags.root_dir),
    )


def answer_command(session_id: str, flags: RunFlags) -> str:
    """Return the command that answers what a session waits for, but for the answer itself."""
    return _command(
        ("session", "answer", session_id),
        ("--config", flags.config_path),
        ("--state-dir", flags.state_dir),
        ("--root-dir", flags.root_dir),
    )


def _command(words: Sequence[str], *paths: tuple[str, str | None]) -> str:
    typed = ["fisk-ai", *words]
    for flag, value in paths:
        if value:
            typed += [flag, str(Path(value).absolute())]
    return command_line(typed)
