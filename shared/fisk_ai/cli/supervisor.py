"""The services of one agent under one process: started, watched, and ended in two stages.

The first signal drains all of them, the second cancels what they run. One that ends by itself
drains the others, and the exit code says so. They end with this process, however it ends. Rules:
``docs/reference/commands.md``.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fisk_ai.bus import signals
from fisk_ai.cli.log_lines import Voice, relay
from fisk_ai.cli.worker_child import WorkerChild, start_worker

if TYPE_CHECKING:
    from fisk_ai.bus.broker import Broker

CANCEL_S: Final = 45.0
"""How long cancelled services may take: each bounds its own end, to 30 s and what comes after."""

WITHOUT_BROKER_S: Final = 5.0
"""How long work may take to park once the broker is gone: nothing it does can reach anybody."""

LAST_LINES_S: Final = 1.0
"""How long the last lines of a process that is gone may take."""

_STAGES: Final = (signal.SIGTERM, signal.SIGINT)
"""What tells a child to drain, and to cancel; two of one kind may arrive as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One service to start: its name, what Python runs, its arguments and its variables."""

    name: str
    program: Sequence[str]
    arguments: Sequence[str]
    environ: Mapping[str, str]
    ready_timeout_s: float


class Signals:
    """Counts signals to end; before anything serves the first one ends the start."""

    def __init__(self, voice: Voice, notice: str) -> None:
        self._voice = voice
        self._notice = notice
        self._starting = asyncio.current_task()
        self.first = asyncio.Event()
        self.second = asyncio.Event()

    @contextmanager
    def installed(self) -> Generator[None]:
        """Receive SIGINT, SIGTERM and SIGHUP in this block, unless SIGHUP is ignored."""
        loop = asyncio.get_running_loop()
        taken = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            taken.append(signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in taken}
        for number in taken:
            loop.add_signal_handler(number, self._take, number)
        try:
            yield
        finally:
            for number, effect in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, effect)

    def serving(self) -> None:
        """Note that everything serves: from now on a signal drains."""
        self._starting = None

    def _take(self, number: signal.Signals) -> None:
        if self._starting is not None:
            self._starting.cancel()
        elif not self.first.is_set():
            self.first.set()
            self._voice.say(self._notice)
        elif number != signal.SIGHUP:  # which seldom comes alone
            self.second.set()


@dataclass(slots=True)
class _Child:
    name: str
    worker: WorkerChild
    lines: asyncio.Task[None]

    def tell(self, number: signal.Signals) -> None:
        signals.send(self.worker.process, number)

    async def stop(self) -> None:
        await self.worker.stop(at_once=True)
        await asyncio.wait({self.lines}, timeout=LAST_LINES_S)
        self.lines.cancel()


@dataclass(slots=True)
class Supervisor:
    """Holds what was started; leaving it ends whatever is left of that."""

    voice: Voice
    broker: Broker | None = None
    _children: list[_Child] = field(default_factory=list["_Child"])

    async def start(self, plan: Plan, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Start a service and wait until it serves.

        Raises:
            SetupError: it could not be started, with its own sentence.
        """
        read, write = os.pipe()
        lines = asyncio.create_task(relay(read, plan.name))
        try:
            worker = await start_worker(
                plan.arguments,
                plan.environ,
                verbose=True,
                meanwhile=meanwhile,
                program=plan.program,
                output=write,
                ready_timeout_s=plan.ready_timeout_s,
            )
        except BaseException:
            os.close(write)
            await asyncio.wait({lines}, timeout=LAST_LINES_S)
            lines.cancel()
            raise
        os.close(write)
        self._children.append(_Child(plan.name, worker, lines))

    async def supervise(self, told: Signals) -> int:
        """Wait for a signal or for the end of a process, end the rest, and return the exit code."""
        asked = asyncio.ensure_future(told.first.wait())
        watched: dict[asyncio.Future[None], _Child] = {
            asyncio.ensure_future(one.worker.died()): one for one in self._children
        }
        ends: set[asyncio.Future[None]] = set(watched)
        broker_gone = None
        if self.broker is not None:
            broker_gone = asyncio.ensure_future(self.broker.died())
            ends.add(broker_gone)
        await asyncio.wait({asked, *ends}, return_when=asyncio.FIRST_COMPLETED)
        faulted = False
        if not asked.done():
            faulted = True
            self._tell_of_ends([watched[end] for end in watched if end.done()])
            if broker_gone is not None and broker_gone.done():
                self.voice.say("the broker ended by itself; the services are stopped")
        await self._end(told, watched, broker_gone)
        for waiting in (asked, *ends):
            waiting.cancel()
        return 1 if faulted or any(one.worker.status for one in self._children) else 0

    async def close(self) -> None:
        """End at once whatever still runs."""
        for child in reversed(self._children):
            await child.stop()

    def _tell_of_ends(self, children: Sequence[_Child]) -> None:
        for child in children:
            status = child.worker.status
            how = signals.name_of(status) or f"status {status}"
            self.voice.say(
                f"{child.name} ended by itself ({how}); the others are drained",
                name=child.name,
                status=status,
            )

    async def _end(
        self,
        told: Signals,
        watched: Mapping[asyncio.Future[None], _Child],
        broker_gone: asyncio.Future[None] | None,
    ) -> None:
        """Drain, and cancel on the second signal, or when there is no broker any more."""
        ends = asyncio.ensure_future(asyncio.wait(watched))
        hurry = asyncio.ensure_future(told.second.wait())
        lost = broker_gone or asyncio.get_running_loop().create_future()
        drain, cancel = _STAGES
        self._tell_all(drain)
        await asyncio.wait({ends, hurry, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not ends.done() and not hurry.done():
            await asyncio.wait({ends, hurry}, timeout=WITHOUT_BROKER_S)
        if not ends.done():
            self._tell_all(cancel)
            await asyncio.wait({ends}, timeout=CANCEL_S)
        for waiting in (ends, hurry):
            waiting.cancel()

    def _tell_all(self, number: signal.Signals) -> None:
        for child in self._children:
            child.tell(number)
