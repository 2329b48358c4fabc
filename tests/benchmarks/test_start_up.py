"""What starting costs, in starts of a bare interpreter."""

from __future__ import annotations

import os
import select
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fisk_ai.faults import VARIABLE, Point
from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand, FakeFlag
from fisk_ai.testing.command import children, command_path

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(120)]

ROUNDS = 15
HOSTED_ROUNDS = 9
LOOK_S = 0.002
"""How often the worker's process id is looked for; nothing is polled once it is known."""

PASS = (sys.executable, "-c", "pass")
CONFIG = """\
identity: bench
application_path: {application}
system_prompt: You are measured.
llm: {{model: small}}
"""
SCRIPT = "turns:\n  - say: done\n"

Row = Callable[[str, str, str, str], None]
Note = Callable[[str], None]
Measure = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Home:
    """An agent in a directory, and the environment its commands run in."""

    directory: Path
    application: FakeApplication

    def environ(self, **more: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.directory), **more}

    def time(self, *words: str) -> float:
        """Return the seconds from the start of a program to its successful end."""
        started = time.perf_counter()
        subprocess.run(
            words,
            check=True,
            cwd=self.directory,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - started

    def says(self, *words: str) -> str:
        """Return what a program prints: what is measured has to be what works."""
        return subprocess.check_output(
            words, cwd=self.directory, env=self.environ(), stdin=subprocess.DEVNULL, text=True
        )

    def time_to_first_request(self) -> float:
        """Return the seconds until the worker of a run dies where it would ask its model."""
        started = time.perf_counter()
        with subprocess.Popen(
            [command_path(), "run", "--script", "script.yaml", "hello"],
            cwd=self.directory,
            env=self.environ(**{VARIABLE: f"{Point.MODEL_BEFORE}=kill"}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as command:
            try:
                worker = _worker_of(command)
                if worker is not None:
                    _await_end(worker)
                took_s = time.perf_counter() - started
                said = command.communicate(timeout=60)[1].decode(errors="replace")
            finally:
                command.kill()
        assert worker is not None, f"the run ended before its worker was seen: {said}"
        assert command.returncode == 1, said
        return took_s

    def time_to_connection(self) -> float:
        """Return the seconds until a run without a script connects to its model's endpoint."""
        with socket.create_server(("127.0.0.1", 0)) as endpoint:  # a new one hears no old worker
            endpoint.settimeout(60)
            address = "http://{}:{}".format(*endpoint.getsockname())
            environ = self.environ(ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=address)
            started = time.perf_counter()
            with subprocess.Popen(
                [command_path(), "run", "hello"],
                cwd=self.directory,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as command:
                try:
                    connection, _ = endpoint.accept()
                    took_s = time.perf_counter() - started
                    with connection:
                        assert connection.recv(17) == b"POST /v1/messages"
                finally:
                    command.kill()
        return took_s

    def sessions(self) -> list[str]:
        """Return the records of every session as text."""
        runs = self.directory / ".local" / "state" / "fisk-ai" / "runs"
        return [path.read_text(encoding="utf-8") for path in runs.glob("*.json")]


@pytest.fixture
def home(disk: Path) -> Home:
    application = FakeApplication(disk / "app", _commands())
    config = CONFIG.format(application=application.path)
    (disk / "agent.yaml").write_text(config, encoding="utf-8")
    (disk / "script.yaml").write_text(SCRIPT, encoding="utf-8")
    return Home(disk, application)


def test_help(home: Home, row: Row) -> None:
    assert "usage: fisk-ai" in home.says(command_path(), "--help")
    shown, bare = _medians(
        ROUNDS, lambda: home.time(command_path(), "--help"), lambda: home.time(*PASS)
    )

    row("fisk-ai --help / python -c pass", f"{shown / bare:.2f}x", "4x", _of(ROUNDS, shown, bare))


def test_info_without_the_introspection_of_the_application(home: Home, row: Row) -> None:
    assert "e_remove" in home.says(command_path(), "info")
    shown, described, bare = _medians(
        ROUNDS,
        lambda: home.time(command_path(), "info"),
        lambda: home.time(str(home.application.path), "--fisk-introspect"),
        lambda: home.time(*PASS),
    )

    own = shown - described
    row(
        "(fisk-ai info - introspection) / python -c pass",
        f"{own / bare:.2f}x",
        "15x",
        f"({shown * 1000:.0f} - {described * 1000:.0f}) ms / {bare * 1000:.0f} ms, "
        f"medians of {ROUNDS}",
    )


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs a descriptor of a process")
def test_the_first_model_request_of_a_hosted_run(home: Home, row: Row, note: Note) -> None:
    asked, bare = _medians(HOSTED_ROUNDS, home.time_to_first_request, lambda: home.time(*PASS))

    sessions = home.sessions()
    assert len(sessions) == HOSTED_ROUNDS + 1, "each run, and the one that warmed up, began"
    assert not any('"assistant"' in text for text in sessions), "a model was asked"
    row(
        "first model request of fisk-ai run / python -c pass",
        f"{asked / bare:.2f}x",
        "40x",
        _of(HOSTED_ROUNDS, asked, bare),
    )
    note(
        "fisk-ai info, fisk-ai run: an application of "
        f"{len(home.application.commands)} commands with a flag and an argument each; agent.yaml\n"
        + _indented(CONFIG.format(application="app/fake"))
        + f"played with --script\n{_indented(SCRIPT)}"
    )


def test_the_first_request_to_a_real_model(home: Home, row: Row) -> None:
    asked, bare = _medians(
        HOSTED_ROUNDS,
        home.time_to_connection,
        lambda: home.time(sys.executable, "-c", "import anthropic"),
    )

    row(
        "first request to a real model / python -c 'import anthropic'",
        f"{asked / bare:.2f}x",
        "1.3x",
        _of(HOSTED_ROUNDS, asked, bare),
    )


def _medians(rounds: int, *measures: Measure) -> list[float]:
    """Return the median of each measure; they take turns, so that all meet the same machine."""
    for measure in measures:
        measure()  # once for the byte code and the page cache
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def _of(rounds: int, over: float, under: float) -> str:
    return f"{over * 1000:.0f} ms / {under * 1000:.0f} ms, medians of {rounds}"


def _worker_of(command: subprocess.Popen[bytes]) -> int | None:
    """Return a descriptor of the worker's process, ``None`` when the command ended without one."""
    while command.poll() is None:
        for pid, line in children(command.pid).items():
            if "agent_worker" in line:
                return os.pidfd_open(pid)
        time.sleep(LOOK_S)
    return None


def _await_end(descriptor: int) -> None:
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(60_000)
    finally:
        os.close(descriptor)


def _commands() -> Sequence[FakeCommand]:
    flag = FakeFlag(name="depth", help="How deep", type="integer")
    arg = FakeArg(name="name", help="Of which", required=True)
    paths = (f"{group} {verb}" for group in "abcde" for verb in ("add", "list", "show", "remove"))
    return [FakeCommand(path=path, flags=(flag,), args=(arg,)) for path in paths]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
