"""What a hundred runs at once ask of one worker: its event loop, its memory, its throughput."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.a2a.client import AgentClient, TaskEnd
from fisk_ai.a2a.messages import (
    Ack,
    AnyQuestion,
    EventBlock,
    RequestPrompt,
    Result,
    Sender,
    request_header,
)
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand
from fisk_ai.testing.broker import connected, running_broker

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(120)]

RUNS = 100
IDLE_S = 1.0
READY_S = 20.0
IDENTITY = "bench"
PROBED = Path(__file__).parent / "probed_worker.py"

CONFIG = """\
identity: bench
application_path: {application}
system_prompt: You are measured.
llm: {{model: small}}
expose: {{agent: {{a2a: {{prompts: {{workers: {runs}}}}}}}}}
"""
COMMAND = "  - {say: Looking., call: [{tool: look, input: {name: moon}}]}\n"
IN_PROCESS = "  - {say: Looking., call: [{tool: look, input: {}}]}\n"
SCRIPT = f"turns:\n{(COMMAND + IN_PROCESS) * 4}{COMMAND}  - say: done\n"
"""Ten iterations: every second one starts a program, the others are answered in the worker, which
refuses a call without its required argument, and the last one ends the run."""

Row = Callable[[str, str, str, str], None]
Stall = tuple[float, float, float]
Window = tuple[float, float]


@dataclass(slots=True)
class Worker:
    """A worker process with a heartbeat, and where it leaves what that saw."""

    process: asyncio.subprocess.Process
    report: Path

    def peak_bytes(self) -> int:
        """Return the most memory it has had resident."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    async def drain(self) -> list[Stall]:
        """End it in order and return the stalls of its loop."""
        self.process.terminate()
        assert await self.process.wait() == 0
        return [tuple(stall) for stall in json.loads(self.report.read_text(encoding="utf-8"))]


class Silent:
    """A caller that takes everything and shows nothing."""

    async def on_ack(self, ack: Ack) -> None:
        assert ack.accepted, ack.reason

    async def on_event(self, block: EventBlock) -> None:
        return

    async def on_question(self, question: AnyQuestion) -> None:
        raise AssertionError(question)

    async def on_gap(self, missed: int) -> None:
        raise AssertionError(missed)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
async def test_a_hundred_runs_in_one_worker(
    disk: Path, row: Row, note: Callable[[str], None]
) -> None:
    application = FakeApplication(
        disk / "app", [FakeCommand(path="look", args=(FakeArg(name="name", required=True),))]
    )
    config = CONFIG.format(application=application.path, runs=RUNS)
    (disk / "agent.yaml").write_text(config, encoding="utf-8")
    (disk / "script.yaml").write_text(SCRIPT, encoding="utf-8")

    async with (
        running_broker(disk / "broker") as broker,
        connected(broker) as connection,
        _worker(disk, broker.url_with_credentials) as worker,
    ):
        idle = (time.monotonic(), time.monotonic() + IDLE_S)
        await asyncio.sleep(IDLE_S)
        client = AgentClient(connection, IDENTITY, "bench")
        started = time.monotonic()
        ends = await asyncio.gather(*(_run(client) for _ in range(RUNS)))
        busy = (started, time.monotonic())
        peak = worker.peak_bytes()
        stalls = await worker.drain()

    assert all(isinstance(end.terminal, Result) for end in ends)
    assert application.count("look") == RUNS * SCRIPT.count("moon")
    _report(row, busy, _worst(stalls, busy), _worst(stalls, idle), peak)
    note(
        f"{RUNS} runs at once in one agent worker over NATS, called from another process; each\n"
        "has 10 iterations, 5 of which start a program (a Python interpreter); agent.yaml\n"
        + _indented(CONFIG.format(application="app/fake", runs=RUNS))
        + f"played with --script\n{_indented(SCRIPT)}"
    )


def _report(row: Row, busy: Window, worst: Stall, idle: Stall, peak_bytes: int) -> None:
    took_s = busy[1] - busy[0]
    row(
        f"{RUNS} runs at once: longest stall of the event loop",
        f"{worst[1] * 1000:.0f} ms",
        "50 ms",
        f"{worst[2] * 1000:.0f} ms of it on the CPU; {idle[1] * 1000:.0f} ms in an idle second",
    )
    row(
        f"{RUNS} runs at once: resident memory of the worker",
        f"{peak_bytes / 1e6:.0f} MB",
        "250 MB",
        "the peak of the process, without the programs it ran",
    )
    row(
        f"{RUNS} runs at once: runs per second",
        f"{RUNS / took_s:.1f}",
        "-",
        f"{RUNS} runs, {RUNS * SCRIPT.count('moon')} programs in {took_s:.1f} s "
        f"on {os.cpu_count()} processors, callers included",
    )


def _worst(stalls: list[Stall], window: Window) -> Stall:
    within = [stall for stall in stalls if window[0] <= stall[0] <= window[1]]
    return max(within, key=lambda stall: stall[1], default=(0.0, 0.0, 0.0))


async def _run(client: AgentClient) -> TaskEnd:
    header = request_header(Sender(name="bench"), IDENTITY)
    return await client.run(RequestPrompt(**header, prompt="look"), Silent())


@asynccontextmanager
async def _worker(directory: Path, url: str) -> AsyncGenerator[Worker, None]:
    report = directory / "stalls.json"
    ready_read, ready_write = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROBED), str(report)),
        *("--config", str(directory / "agent.yaml"), "--script", str(directory / "script.yaml")),
        *("--state-dir", str(directory / "state"), "--ready-fd", str(ready_write)),
        stdin=asyncio.subprocess.DEVNULL,
        pass_fds=(ready_write,),
        env={"PATH": os.environ["PATH"], "FISK_AI_NATS_URL": url, "FISK_AI_LOG_LEVEL": "error"},
    )
    os.close(ready_write)
    try:
        said = await asyncio.wait_for(asyncio.to_thread(_line, ready_read), READY_S)
        assert b"true" in said, said
        yield Worker(process, report)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _line(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.readline()


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
