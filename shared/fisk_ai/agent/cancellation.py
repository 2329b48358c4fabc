"""Whether this very run was told to stop, as opposed to something it awaited."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Say whether somebody cancelled the task that runs this."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
