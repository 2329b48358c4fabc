"""The agent worker, with a heartbeat in its event loop.

Everything of the worker is the product's own. The heartbeat asks to be woken every few
milliseconds; how late it is, is how long nothing else could run in that loop either. The first
argument names the file for what it saw; the others are the worker's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from agent_worker import arguments
from agent_worker.additions import Additions
from agent_worker.ready import ReadyLine
from fisk_ai import imports

with imports.uncollected():
    from agent_worker.app import run

INTERVAL_S = 0.005
WORTH_KEEPING_S = 0.001

Stall = tuple[float, float, float]
"""When it ended on the monotonic clock, how late the heartbeat was, and the CPU used meanwhile."""


async def beat(stalls: list[Stall]) -> None:
    while True:
        due, used = time.monotonic() + INTERVAL_S, time.thread_time()
        await asyncio.sleep(INTERVAL_S)
        late = time.monotonic() - due
        if late > WORTH_KEEPING_S:
            stalls.append((due + late, late, time.thread_time() - used))


async def probed(argv: Sequence[str], stalls: list[Stall]) -> int:
    worker = arguments.parse(argv)
    heartbeat = asyncio.create_task(beat(stalls))
    try:
        return await run(worker, os.environ, ReadyLine(worker.ready_fd), Additions())
    finally:
        heartbeat.cancel()


def main(report: Path, argv: Sequence[str]) -> int:
    stalls: list[Stall] = []
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        status = runner.run(probed(argv, stalls))
    report.write_text(json.dumps(stalls), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
