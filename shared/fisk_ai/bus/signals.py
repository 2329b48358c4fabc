"""Signalling a child process that the event loop watches, and reading what ended it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal


def send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signal ``process``; one that is gone is fine.

    Its own ``send_signal`` first asks whether it is gone, which takes the exit status away from the
    event loop that waits for it: the loop then complains and makes up a status of 255.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def name_of(status: int) -> str:
    """Return the name of the signal that an exit code tells of; empty when it tells of none."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return ""
