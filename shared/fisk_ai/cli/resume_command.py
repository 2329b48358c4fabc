"""How a conversation is found again: the command a person is told to type."""

from __future__ import annotations

import shlex
from pathlib import Path

from fisk_ai.cli.run_flags import RunFlags


def resume_command(session_id: str, flags: RunFlags) -> str:
    """Return the command that continues a session from any directory, with what finds it again."""
    words = ["fisk-ai", "run", "--resume", session_id]
    for flag, value in (
        ("--config", flags.config_path),
        ("--script", flags.script),
        ("--state-dir", flags.state_dir),
        ("--root-dir", flags.root_dir),
    ):
        if value:
            words += [flag, str(Path(value).absolute())]
    return shlex.join(words)
