"""How a conversation is found again: the commands a person is told to type."""

from __future__ import annotations

from fisk_ai.cli.quoting import command_line
from fisk_ai.cli.run_flags import RunFlags


def resume_command(session_id: str, flags: RunFlags) -> str:
    """Return the command that continues a session from any directory, with what finds it again."""
    return command_line(
        ("fisk-ai", "run", "--resume", session_id),
        ("--config", flags.config_path),
        ("--script", flags.script),
        ("--worker", flags.worker),
        ("--state-dir", flags.state_dir),
        ("--root-dir", flags.root_dir),
    )


def answer_command(session_id: str, flags: RunFlags) -> str:
    """Return the command that answers what a session waits for, but for the answer itself."""
    return command_line(
        ("fisk-ai", "session", "answer", session_id),
        ("--config", flags.config_path),
        ("--state-dir", flags.state_dir),
        ("--root-dir", flags.root_dir),
    )
