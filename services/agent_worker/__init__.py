"""The agent worker: introspection, tools, the gate, the loop and the journal in one process.

A worker with tools or hooks of one's own is a file that calls :func:`serve`; it takes the place of
``python -m agent_worker`` and the same arguments. Rules: ``docs/reference/serving.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fisk_ai.agent.hooks import Hooks
    from fisk_ai.toolkit.contract import Tool

__all__ = ["serve"]


def serve(
    *, tools: Sequence[Tool] = (), hooks: Hooks | None = None, argv: Sequence[str] | None = None
) -> int:
    """Serve the agent of one configuration until the process is told to end.

    ``tools`` are offered beside the application's and ``hooks`` are called in every run; neither
    may be changed afterwards. ``argv`` are the arguments without the program's name, those of the
    process by default. Call it from the main thread; it handles SIGTERM and SIGINT.

    Returns:
        The exit code of the process: 0 after an orderly end, else 1. What stopped the start was
        said on the ready line or on standard error.
    """
    import sys  # noqa: PLC0415 - importing this package costs nothing
    from functools import partial  # noqa: PLC0415 - likewise

    from agent_worker.__main__ import main  # noqa: PLC0415 - likewise
    from agent_worker.additions import Additions  # noqa: PLC0415 - likewise

    bring = partial(Additions.of, tools, hooks)
    return main(sys.argv[1:] if argv is None else argv, bring)
