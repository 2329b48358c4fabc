"""A fleet that is killed again and again while it works, and the count of what that cost.

Three workers answer prompts with several tool calls each. Now a worker, now the broker is killed
with SIGKILL, at random moments that a printed seed gives again. Lost is a prompt without its
answer; repeated is a step that ran once more although it was recorded. Both have to be 0.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fisk_ai.bus.jetstream import JetStream
from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.presence import Presence
from fisk_ai.sessions.provisioning import stream_wish
from fisk_ai.testing.application import FakeApplication, FakeCommand
from fisk_ai.testing.broker import provision
from fisk_ai.testing.cluster import Cluster, running_cluster
from fisk_ai.testing.persistence import Books, LostError, Persistent
from fisk_ai.testing.workshop import Worker, Workshop

WORKERS = 3
AT_ONCE = 9
"""Prompts under way at any moment: three for each worker."""

IDENTITY = "soaked"
ANSWER = "counted"
STEPS = 3

PAUSES_S = (0.3, 3.0)
"""Between two kills."""

BROKER_SHARE = 0.25
"""How many of the kills are the broker's."""

SETTLE_S = 120.0
"""How long what is under way may take once nobody is killed any more."""

CONFIG = """\
identity: soaked
system_prompt: Count.
application_path: {application}
llm: {{model: test-model, provider: scripted, options: {{script: script.yaml}}}}
expose: {{agent: {{a2a: {{prompts: {{workers: 8}}}}}}}}
harness: {{sessions: {{backend: jetstream, options: {{stream: RUNS}}}}}}
"""

SCRIPT = """\
turns:
  - call: [{tool: count_one, input: {}}, {tool: count_two, input: {}}]
  - call: [{tool: count_three, input: {}}]
  - say: "counted"
"""


class Source(Protocol):
    """Where the work of a soak comes from."""

    async def ask(self, prompt: str) -> str:
        """Have one prompt answered, whatever dies meanwhile; raises LostError."""
        ...


@dataclass(slots=True)
class Report:
    """What a soak came to."""

    seed: int
    runs: int = 0
    worker_kills: int = 0
    broker_kills: int = 0
    lost: list[str] = field(default_factory=list[str])
    attempts: int = 0
    took_s: float = 0.0
    books: Books = field(default_factory=Books)

    @property
    def holds(self) -> bool:
        """Whether nothing was lost and nothing recorded ran again."""
        enough = self.books.recorded >= self.runs * STEPS
        return self.runs > 0 and not self.lost and self.books.repeated == 0 and enough

    def text(self) -> str:
        """Return it for people, a line."""
        kills = f"{self.worker_kills} workers, {self.broker_kills} brokers"
        return (
            f"soak: seed={self.seed} runs={self.runs} kills={self.worker_kills + self.broker_kills}"
            f" ({kills}) attempts={self.attempts} lost={len(self.lost)}"
            f" recorded={self.books.recorded} repeated={self.books.repeated}"
            f" ran_and_unrecorded={self.books.spare} took={self.took_s:.0f}s"
        )


class Soak:
    """One soak over a fleet that is there."""

    def __init__(self, shop: Workshop, cluster: Cluster, source: Source, seed: int) -> None:
        """``seed`` gives the moments and the victims."""
        self.report = Report(seed)
        self._shop = shop
        self._cluster = cluster
        self._source = source
        self._random = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self._workers: list[Worker] = []
        self._over = False

    async def run(self, length_s: float) -> Report:
        """Work and kill for ``length_s`` seconds, then let everything end."""
        began = time.monotonic()
        self._workers = [await self._worker() for _ in range(WORKERS)]
        async with asyncio.TaskGroup() as group:
            callers = [group.create_task(self._calls(number)) for number in range(AT_ONCE)]
            await self._kill_until(time.monotonic() + length_s)
            self._over = True
            _, left = await asyncio.wait(callers, timeout=SETTLE_S)
            for caller in left:
                caller.cancel()
            self.report.lost += [f"caller {callers.index(caller)} waits" for caller in left]
        self.report.took_s = time.monotonic() - began
        return self.report

    async def _calls(self, number: int) -> None:
        turn = 0
        while not self._over:
            turn += 1
            name = f"prompt {number}.{turn}"
            self.report.runs += 1
            try:
                answer = await self._source.ask(name)
            except LostError as exc:
                self.report.lost.append(f"{name}: {exc}")
            else:
                if answer != ANSWER:
                    self.report.lost.append(f"{name}: answered {answer!r}")

    async def _kill_until(self, end: float) -> None:
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, self._random.uniform(*PAUSES_S)))
            is_broker = self._random.random() < BROKER_SHARE
            if not self.report.broker_kills or (self.report.worker_kills and is_broker):
                await self._kill_broker()  # first, so that the shortest soak has both
            else:
                await self._kill_worker()

    async def _kill_broker(self) -> None:
        node = self._random.choice(self._cluster.nodes)
        await node.kill()
        self.report.broker_kills += 1
        await asyncio.sleep(self._random.uniform(0.0, 0.5))
        await node.start()

    async def _kill_worker(self) -> None:
        victim = self._random.randrange(len(self._workers))
        self._workers[victim].process.send_signal(signal.SIGKILL)
        await self._workers[victim].ended()
        self.report.worker_kills += 1
        self._workers[victim] = await self._worker()

    async def _worker(self) -> Worker:
        quiet = {"FISK_AI_LOG_LEVEL": "error"}
        return await self._shop.start("--no-operator", environ=quiet)


async def soak(directory: Path, *, length_s: float, seed: int) -> Report:
    """Run one soak whose files lie under ``directory``, and audit it."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(running_cluster(directory / "broker", 1))
        connection = await cluster.connect("soak")
        stack.push_async_callback(connection.drain)
        js = JetStream(connection)
        await provision(js, stream_wish("RUNS", replicas=1))
        store = StreamStore(js, "RUNS", Presence(connection, IDENTITY))
        await store.bind()
        shop = shop_in(directory / "agent", cluster.url)
        stack.push_async_callback(shop.close)
        source = Persistent(connection, IDENTITY, store)
        report = await Soak(shop, cluster, source, seed).run(length_s)
        report.attempts = source.attempts
        report.books = await Books.audit(store, shop.application.calls())
    return report


def shop_in(directory: Path, url: str) -> Workshop:
    """Return where workers are started whose every prompt takes :data:`STEPS` counted commands."""
    counters = ("count one", "count two", "count three")
    application = FakeApplication(
        directory, [FakeCommand(path=path, shows_pid=True) for path in counters]
    )
    shop = Workshop(directory, url, application, state="")
    shop.write("agent.yaml", CONFIG.format(application=application.path))
    shop.write("script.yaml", SCRIPT)
    return shop


def main(argv: Sequence[str]) -> int:
    """Run a soak of so many minutes, print what it came to, and return 1 unless it holds."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args(argv)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    _say(f"soak: seed={seed} minutes={arguments.minutes:g}")
    directory = Path(tempfile.mkdtemp(prefix="fisk-ai-soak-"))
    report = asyncio.run(soak(directory, length_s=60 * arguments.minutes, seed=seed))
    _say(report.text())
    for lost in report.lost:
        _say(f"lost: {lost}")
    if not report.holds:
        _say(f"soak: its files are kept in {directory}")
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
