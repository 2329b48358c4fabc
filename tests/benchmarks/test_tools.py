"""What tools cost: finding out about them, and calling one."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import uvloop

from fisk_ai.config import Config, Mode, loads
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand, FakeFlag
from fisk_ai.toolkit import toolset
from fisk_ai.toolkit.contract import CallContext, ExecDeps
from fisk_ai.toolkit.fisk import application
from fisk_ai.toolkit.fisk import document as documents
from fisk_ai.toolkit.fisk.command import CommandTool, Host
from fisk_ai.toolkit.fisk.tree import leaves

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(60)]

COMMANDS = 300
ROUNDS = 60
CALLS = 300
WARM_UP = 30

Row = Callable[[str, str, str, str], None]


def test_three_hundred_commands_become_tools(disk: Path, row: Row) -> None:
    raw = _described(disk)
    config = loads(
        "application_path: ./fake\nexclude: {tools: ['^never$']}\n",
        Mode.LENIENT,
        source=disk / "agent.yaml",
    )
    assert len(_assembled(config, raw).tools) == COMMANDS

    taken: list[float] = []
    decoded: list[float] = []
    gc.collect()
    gc.freeze()  # both make many objects; what else lives in this process must not matter
    for _ in range(ROUNDS):
        taken.append(_timed(lambda: _assembled(config, raw)))
        decoded.append(_timed(lambda: msgspec.json.decode(raw)))
    gc.unfreeze()
    own, bare = statistics.median(taken), statistics.median(decoded)
    row(
        f"document of {COMMANDS} commands to a tool set / decoding its JSON",
        f"{own / bare:.2f}x",
        "3x",
        f"{own * 1000:.1f} ms / {bare * 1000:.1f} ms, {len(raw) // 1024} KiB, medians of {ROUNDS}",
    )


def test_a_call_of_a_trivial_program(row: Row) -> None:
    program = shutil.which("true")
    assert program is not None
    spawned: list[float] = []
    called: list[float] = []

    async def measure() -> None:
        tool = _trivial(Path(program))
        for _ in range(CALLS + WARM_UP):
            spawned.append(_timed(lambda: _spawn(program)))
            started = time.perf_counter()
            outcome = await tool.execute(CallContext(), b"{}", ExecDeps())
            called.append(time.perf_counter() - started)
            assert outcome.exec is not None
            assert outcome.exec.exit_code == 0

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure())
    own, bare = statistics.median(called[WARM_UP:]), statistics.median(spawned[WARM_UP:])
    row(
        "call of a trivial command / posix_spawn with a pipe, and waiting for it",
        f"{own / bare:.2f}x",
        "1.5x",
        f"{own * 1000:.2f} ms / {bare * 1000:.2f} ms, medians of {CALLS}, alternating",
    )


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _described(directory: Path) -> bytes:
    flags = tuple(
        FakeFlag(name=f"{name}-level", help=f"How {name} it may be", type="integer")
        for name in ("deep", "wide", "loud")
    )
    arg = FakeArg(name="name", help="Of which", required=True)
    commands = [
        FakeCommand(
            path=f"group{number % 20} command{number}",
            help=f"Does what command {number} does, and says what it did.",
            flags=flags,
            args=(arg,),
            tags=("impact:ro",),
        )
        for number in range(COMMANDS)
    ]
    made = FakeApplication(directory / "app", commands)
    return json.dumps(made.document(), separators=(",", ":")).encode()


def _assembled(config: Config, raw: bytes) -> toolset.ToolSet:
    loaded = application.assemble(config, documents.decode(raw), program=Path("/fake"), environ={})
    built, _ = toolset.build(
        toolset.Sources(app_tools=loaded.tools),
        supports_tool_search=True,
        allow_tool_search=True,
    )
    return built


def _trivial(program: Path) -> CommandTool:
    raw = b'{"name":"p","help":"","commands":[{"name":"go","help":"","restricted_schema":{}}]}'
    (leaf,) = leaves(documents.decode(raw).commands, program)
    return CommandTool(leaf, (), Host(program=program, environ=dict(os.environ)))


def _spawn(program: str) -> None:
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)]
    pid = os.posix_spawn(program, [program, "go"], os.environ, file_actions=actions)
    os.close(writing)
    while os.read(reading, 65536):
        pass
    os.close(reading)
    os.waitpid(pid, 0)
