"""What becomes of a bug in a run: one fixed sentence outside, the details in the log.

The sentence may reach a peer, so it carries neither the exception's text nor its stack.
"""

from __future__ import annotations

import traceback
from contextlib import suppress

from fisk_ai.agent.events import EventSink
from fisk_ai.errors import PanicError


async def report(error: Exception, events: EventSink) -> PanicError:
    """Hand ``error`` and its stack to the sink and return what may be told elsewhere."""
    stack = "".join(traceback.format_exception(error))
    with suppress(Exception):  # a sink that crashes too must not hide the first crash
        await events.panicked(error, stack)
    return PanicError()
