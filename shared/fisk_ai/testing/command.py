"""The installed command as a process, an agent for it to run, and what it leaves behind.

Everything is real: the console script, the broker and the worker it starts, files and signals.
Nothing waits for a time; whatever a test needs to have happened is looked for.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fisk_ai.testing.application import FakeApplication, FakeArg, FakeCommand

DEADLINE_S = 40.0
"""How long anything may take on a busy machine before a test gives up."""

SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE", "FISK_AI_NATS_URL", "LLMFORMAT")
"""What the command ``env`` shows of its environment: three things it must not have, and one."""


def until(what: str, reached: Callable[[], bool]) -> None:
    """Look until ``reached``, and fail naming ``what`` when it is not in time."""
    deadline = time.monotonic() + DEADLINE_S
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.01)


def children(pid: int) -> dict[int, str]:
    """Return the command lines of the direct children of ``pid``."""
    found: dict[int, str] = {}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            words = path.read_text(encoding="ascii").split()
        except OSError:
            continue
        for word in words:
            try:
                line = Path(f"/proc/{word}/cmdline").read_bytes()
            except OSError:
                continue
            found[int(word)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def child_of(pid: int, name: str) -> int:
    """Wait for the direct child of ``pid`` whose command line holds ``name``."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [child for child, line in children(pid).items() if name in line]
        return bool(found)

    until(f"a child process {name}", look)
    return found[0]


def alive(pid: int) -> bool:
    """Say whether ``pid`` runs; a process that only waits to be collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


@dataclass(frozen=True, slots=True)
class Done:
    """How the command ended and what it printed."""

    status: int
    out: str
    err: str


@dataclass(slots=True)
class Running:
    """A command in its middle; its standard error is in a file that tests look at."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def pid(self) -> int:
        """The process id of the command."""
        return self.process.pid

    def said(self) -> str:
        """Return its standard error so far."""
        return self.err.read_text(encoding="utf-8")

    def wait_said(self, text: str) -> None:
        """Wait until ``text`` was printed on standard error."""
        try:
            until(f"{text!r} on stderr", lambda: text in self.said() or self._ended())
        except AssertionError as exc:
            raise AssertionError(f"{exc}; it said {self.said()!r}") from None
        if text not in self.said():
            raise AssertionError(f"ended without {text!r}; it said {self.said()!r}")

    def _ended(self) -> bool:
        return self.process.poll() is not None

    def child(self, name: str) -> int:
        """Wait for the child process whose command line holds ``name``."""
        return child_of(self.pid, name)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def end(self) -> Done:
        """Wait for its end."""
        status = self.process.wait(DEADLINE_S)
        return Done(status, self.out.read_text(encoding="utf-8"), self.said())


MEASURING = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
"""What tells a process that its coverage is measured; nothing else is inherited."""


@dataclass(slots=True)
class Agent:
    """An ``agent.yaml`` with an application and a script; everything lies under ``home``."""

    home: Path
    application: FakeApplication
    environ: dict[str, str]
    started: list[Running] = field(default_factory=list[Running])
    terminals: list[Terminal] = field(default_factory=list["Terminal"])

    @classmethod
    def make(cls, home: Path) -> Agent:
        """Make an agent in the new directory ``home``."""
        (home / "tmp").mkdir(parents=True)
        environ = {
            **{name: os.environ[name] for name in MEASURING if name in os.environ},
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "TMPDIR": str(home / "tmp"),
        }
        agent = cls(home, FakeApplication(home / "app", _commands(home)), environ)
        agent.configure()
        agent.script("say: It says Moo.")
        return agent

    def close(self) -> None:
        """End what a test left running."""
        for left in (*self.started, *self.terminals):
            if left.process.poll() is None:
                left.process.kill()
                left.process.wait(DEADLINE_S)

    @property
    def gate_file(self) -> Path:
        """The command ``wait`` goes on until this file exists."""
        return self.home / "open"

    @property
    def sessions(self) -> Path:
        """Where the agent's sessions are kept."""
        return self.home / "state" / "fisk-ai" / "runs"

    def script(self, *turns: str) -> None:
        """Write the script: one line of YAML per turn."""
        text = "turns:\n" + "".join(f"  - {turn}\n" for turn in turns)
        (self.home / "script.yaml").write_text(text, encoding="utf-8")

    def configure(self, text: str = "") -> None:
        """Write ``agent.yaml``: ``text``, or a configuration that works."""
        base = (
            f"identity: cow\napplication_path: {self.application.path}\n"
            "system_prompt: You are a cow.\nllm: {model: small}\n"
        )
        (self.home / "agent.yaml").write_text(text or base, encoding="utf-8")

    def extend(self, text: str) -> None:
        """Write ``text`` behind what ``agent.yaml`` holds."""
        with (self.home / "agent.yaml").open("a", encoding="utf-8") as written:
            written.write(text)

    def start(
        self, *words: str, environ: Mapping[str, str] | None = None, stdout: int | None = None
    ) -> Running:
        """Start ``fisk-ai`` with ``words``, without a terminal."""
        number = len(self.started)
        out, err = self.home / f"out-{number}", self.home / f"err-{number}"
        with out.open("wb") as kept, err.open("wb") as stderr:
            process = subprocess.Popen(
                [command_path(), *words],
                cwd=self.home,
                env=self.environ | dict(environ or {}),
                stdin=subprocess.DEVNULL,
                stdout=kept if stdout is None else stdout,
                stderr=stderr,
            )
        running = Running(process, out, err)
        self.started.append(running)
        return running

    def run(self, *words: str, environ: Mapping[str, str] | None = None) -> Done:
        """Run ``fisk-ai`` with ``words`` to its end."""
        return self.start(*words, environ=environ).end()

    def rehearse(self, *words: str, environ: Mapping[str, str] | None = None) -> Done:
        """Run a turn against the script."""
        return self.run("run", "--script", "script.yaml", *words, environ=environ)


def command_path() -> str:
    """Return the installed console script."""
    return str(Path(sys.executable).parent / "fisk-ai")


def _commands(home: Path) -> Sequence[FakeCommand]:
    message = FakeArg(name="message", required=True)
    return (
        FakeCommand(path="say", help="Say something", args=(message,), echo=True),
        FakeCommand(path="wait", help="Wait for the gate", wait_for=home / "open"),
        FakeCommand(path="wipe", help="Wipe a disk", tags=("ai:confirm",), output="wiped\n"),
        FakeCommand(path="env", help="Show secrets", show_environment=SECRETS),
        FakeCommand(path="fail", help="Fail", output="no luck\n", exit_code=3),
    )


def session_of(text: str) -> str:
    """Return the session id of the summary or the resume hint in what a command said."""
    found = re.search(r"(?:session=|resume with: (?:cd .+? && )?fisk-ai run --resume )(\S+)", text)
    assert found is not None, text
    return found[1]


_INPUT_OPEN, _INPUT_CLOSED = "\x1b[?2004h", "\x1b[?2004l"
"""How a line editor asks a terminal to mark what is pasted, and to stop that."""


_ROWS = 24


class Terminal:
    """A command whose input and errors are a real terminal, and on request its output, too."""

    def __init__(
        self,
        agent: Agent,
        *words: str,
        shows_output: bool = False,
        errors: Path | None = None,
        columns: int = 0,
    ) -> None:
        """Start ``fisk-ai`` with ``words``; its output goes to a file unless it is to be shown.

        What it says beside its output goes to ``errors`` where that is given. A terminal of no
        ``columns`` does not say its size.
        """
        self._leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (_ROWS if columns else 0, columns))
        self._before = termios.tcgetattr(follower)[:4]
        agent.terminals.append(self)
        self._seen = bytearray()
        self._out = agent.home / "terminal-out"
        with self._out.open("wb") as stdout, (errors or Path(os.devnull)).open("wb") as stderr:
            self.process = subprocess.Popen(
                [command_path(), *words],
                cwd=agent.home,
                env=agent.environ | {"TERM": "xterm"},
                stdin=follower,
                stdout=follower if shows_output else stdout,
                stderr=follower if errors is None else stderr,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no thread runs here
            )
        os.close(follower)

    def child(self, name: str) -> int:
        """Wait for the child process whose command line holds ``name``."""
        return child_of(self.process.pid, name)

    def screen(self) -> str:
        """Return everything shown so far."""
        while select.select([self._leader], [], [], 0)[0]:
            try:
                chunk = os.read(self._leader, 65536)
            except OSError:  # the last process on the terminal is gone
                break
            if not chunk:
                break
            self._seen += chunk
        return self._seen.decode(errors="replace").replace("\r\n", "\n")

    def wait_shown(self, text: str, *, times: int = 1) -> None:
        """Wait until ``text`` was shown so many times."""
        until(f"{text!r} on the screen", lambda: self.screen().count(text) >= times)

    def wait_input(self, times: int = 1) -> None:
        """Wait until the input line of a chat was opened so many times."""
        self.wait_shown(f"{_INPUT_OPEN}> ", times=times)

    def is_restored(self) -> bool:
        """Say whether the terminal works as before the command began, once it has ended."""
        until("the command ends", lambda: bool(self.screen()) and self.process.poll() is not None)
        is_marking = self.screen().rfind(_INPUT_OPEN) > self.screen().rfind(_INPUT_CLOSED)
        return termios.tcgetattr(self._leader)[:4] == self._before and not is_marking

    def type(self, text: str) -> None:
        """Press keys; U+0003 is Ctrl-C and U+0004 Ctrl-D, a lone surrogate a stray byte."""
        os.write(self._leader, text.encode(errors="surrogateescape"))

    def hang_up(self) -> int:
        """Close the terminal, as its window does, and return the exit code of the command."""
        os.close(self._leader)
        return self.process.wait(DEADLINE_S)

    def end(self) -> Done:
        """Wait for its end; ``err`` is what the terminal showed."""
        until("the command ends", lambda: bool(self.screen()) and self.process.poll() is not None)
        status = self.process.wait()
        shown = self.screen()
        os.close(self._leader)
        return Done(status, self._out.read_text(encoding="utf-8"), shown)
