"""``python -P -m agent_worker``: start, serve, and say in one sentence why not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from agent_worker import arguments as command_line
from agent_worker.additions import Additions
from agent_worker.ready import ReadyLine
from fisk_ai import imports, oserror, secrecy
from fisk_ai.errors import FiskError

_TRACEBACK = "it wrote where to standard error, which fisk-ai run shows with --verbose"


def main(argv: Sequence[str], bring: Callable[[], Additions] = Additions) -> int:
    """Run the worker and return its exit code: 0 after an orderly end, else 1.

    ``bring`` returns what is added to the configuration; what it refuses stops the start.
    """
    secrecy.shield()
    try:
        arguments = command_line.parse(argv)
    except FiskError as exc:
        ReadyLine(None).refused(str(exc))
        return 1
    ready = ReadyLine(arguments.ready_fd)
    try:
        with imports.uncollected():
            from agent_worker import variables  # noqa: PLC0415 - a usage error needs none of it
            from agent_worker.app import run  # noqa: PLC0415 - likewise
            from agent_worker.leaving import Leaving, run_to_the_end  # noqa: PLC0415 - likewise

            environ = variables.read(arguments.secrets_fd)
            additions = bring()
            leaving = Leaving()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            work = run(arguments, environ, ready, additions)
            code = run_to_the_end(runner, work, ready)
            leaving.begin(code)
        leaving.end()
        return code
    except FiskError as exc:
        ready.refused(str(exc))
        return 1
    except Exception as exc:
        if isinstance(exc, (OSError, MemoryError)) and not ready.is_serving:
            ready.refused(f"the agent worker could not start: {oserror.in_words(exc)}")
            return 1
        ready.refused(f"the agent worker failed: {type(exc).__name__}, a bug; {_TRACEBACK}")
        raise


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - absent where it is not built

        return uvloop.new_event_loop
    except ImportError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
