"""The one place where a provider waits for time to pass; the wait ends when it is cancelled."""

from __future__ import annotations

import asyncio


async def pause(seconds: float) -> None:
    """Wait; nothing at all for zero or less."""
    if seconds > 0:
        await asyncio.sleep(seconds)
