"""Whether this very run was told to stop, as opposed to something it awaited."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Say whether somebody cancelled the task that runs this."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def take_back() -> None:
    """Forget that the task was cancelled: it was over but for the telling, so it ends as it is."""
    task = asyncio.current_task()
    while task is not None and task.uncancel() > 0:
        pass
