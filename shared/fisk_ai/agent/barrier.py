"""What becomes of a bug in a run: one fixed sentence outside, the details in the log.

The sentence may reach a peer, so it carries neither the exception's text nor its stack.
"""

from __future__ import annotations

import traceback
from contextlib import suppress

from fisk_ai.agent.options import RunOptions, RunOutcome
from fisk_ai.agent.progress import Progress
from fisk_ai.errors import PanicError

NOT_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends the process or throws the coroutine away: no moment to call anybody."""


async def crash(error: BaseException, options: RunOptions, progress: Progress) -> RunOutcome:
    """Tell of a bug and return what may be told elsewhere.

    The stack is taken before any code of the caller runs, and none of that code can hide it.
    """
    stack = "".join(traceback.format_exception(error))
    result = progress.failed(crashed=True)
    with suppress(Exception):
        await progress.tell_end(None, None, crashed=True)
    with suppress(Exception):
        await options.events.panicked(error, stack)
    return result, PanicError()
