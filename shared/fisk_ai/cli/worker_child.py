"""The agent worker as a child process: started, awaited, watched, stopped by its process id.

Its credentials travel in a file that has no name and is empty once the worker read it, never in its
environment, which the commands that it runs could read. It ends with this process however that one
ends: the kernel signals it, and the pipe it holds closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from fisk_ai import oserror, secrecy
from fisk_ai.bus import signals
from fisk_ai.bus.owner import OWNER_DIED, die_with_parent
from fisk_ai.cli import worker_log
from fisk_ai.errors import SetupError
from fisk_ai.text.sanitise import for_terminal
from fisk_ai.toolkit.environment import credential_names

READY_TIMEOUT_S = 45.0
"""A worker is ready in about a second. This exceeds every bound that it keeps itself while it
starts, the longest being the 30 s of an application that describes itself, so that its own sentence
says which of them passed; whoever does not want to wait interrupts."""

READY_LIMIT_BYTES = 65_536
"""The longest ready line: one sentence with room to spare."""

REASON_LIMIT = 4_000
"""Code points of a worker's own sentence: as many as the worker of ours writes."""

LAST_LINE_TIMEOUT_S = 0.5
"""How long the line of a worker that is gone may take. What it wrote is there, and its pipe ends
with it unless a process that it left behind holds the pipe."""

DRAIN_TIMEOUT_S = 6.0
"""How long a worker without work may take to leave before it is killed: as long as it gives itself,
5 s for the connections of its model and 1 s for what tools left behind."""

SLOW_S = 1.5
"""How long a person waits for that before they are told why."""

LEAVE_TIMEOUT_S = 1.5
"""The same for a worker that is told to cancel its work: time to record where it stands."""

_SLOW = (
    "the agent's process does not end yet, as when code of a tool or a hook keeps it; it is killed "
    "in {left_s:g} s"
)

_NO_SERVE = ": it wrote nothing; a worker of your own ends with agent_worker.serve(...)"
"""What may be said of a program that ended in silence."""


@dataclass(slots=True)
class WorkerChild:
    """A running worker and the ends of the pipes it shares with this process."""

    identity: str
    process: asyncio.subprocess.Process
    owner_fd: int
    log: IO[bytes] | None
    program: str = ""
    """The file that was started, for one of a person's own."""

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self.process.pid

    @property
    def status(self) -> int:
        """The exit code of a worker that is gone, negative for a signal."""
        return self.process.returncode or 0

    async def died(self) -> None:
        """Wait until the process is gone."""
        await self.process.wait()

    def last_words(self) -> list[str]:
        """Return the error in its log, else the last lines; none when it went to the terminal."""
        error = worker_log.error(self.log, self.program)
        return [error] if error else worker_log.tail(self.log)

    def kill(self) -> None:
        """End the process at once, and what it started in its group; its tools end with it."""
        signals.send(self.process, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # its id is taken while the group has a member

    async def stop(self, *, at_once: bool) -> None:
        """Let the worker drain, or cancel what it runs, and wait until it is gone."""
        if self.owner_fd >= 0:
            os.close(self.owner_fd)
            self.owner_fd = -1
        signals.send(self.process, signal.SIGTERM)
        if at_once:  # the second stage; a signal that is pending already would be lost, this is not
            signals.send(self.process, signal.SIGINT)
        try:
            is_gone = await self._ends_in(LEAVE_TIMEOUT_S if at_once else SLOW_S)
            if not is_gone and not at_once:
                left_s = DRAIN_TIMEOUT_S - SLOW_S
                print(_SLOW.format(left_s=left_s), file=sys.stderr)
                await self._ends_in(left_s)
        finally:
            self.kill()
        await self.process.wait()
        if self.log is not None:
            self.log.close()
            self.log = None

    async def _ends_in(self, limit_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.process.wait()
        return self.process.returncode is not None


AGENT_WORKER = ("-P", "-m", "agent_worker")
"""What Python runs as the worker: the installed one, never a folder of its name that lies here."""


async def start_worker(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    *,
    verbose: bool,
    meanwhile: Callable[[], object],
    program: Sequence[str] = AGENT_WORKER,
    output: int | None = None,
    ready_timeout_s: float | None = None,
) -> WorkerChild:
    """Start a worker with ``arguments``, call ``meanwhile``, and wait until it serves.

    What is secret in ``environ`` by its name is handed over; the rest is the child's environment.
    ``program`` is what Python is told to run; it must take what ``agent_worker`` takes. What it
    prints goes to the descriptor ``output``; without one to our standard error if ``verbose``, else
    to a file, for the case that it dies.

    Raises:
        SetupError: it refused to start, with its own sentence; it died; or it took too long.
    """
    kept = not verbose and output is None
    log = tempfile.TemporaryFile() if kept else None  # noqa: SIM115 - lives as long as the worker
    ready_read, ready_write = os.pipe()
    owner_read, owner_write = os.pipe()
    try:
        words = (*program, *arguments)
        prints_to = log.fileno() if log is not None else output
        process = await _spawn(words, environ, prints_to, (ready_write, owner_read))
    except OSError as exc:
        _close(ready_read, owner_write, log)
        raise SetupError(f"the agent worker could not be run: {oserror.in_words(exc)}") from exc
    finally:
        os.close(ready_write)
        os.close(owner_read)
    child = WorkerChild("", process, owner_write, log, program[-1])
    try:
        meanwhile()
        child.identity = await _await_ready(child, ready_read, ready_timeout_s or READY_TIMEOUT_S)
    except BaseException:
        child.kill()
        await child.stop(at_once=True)
        raise
    return child


async def _spawn(
    words: Sequence[str],
    environ: Mapping[str, str],
    output: int | None,
    descriptors: tuple[int, int],
) -> asyncio.subprocess.Process:
    ready, owner = descriptors
    public, secrets = parted(environ)
    prints_to = sys.stderr.fileno() if output is None else output
    with secrecy.hand_over(secrets) as handed:
        flags = {"--ready-fd": ready, "--owner-fd": owner, "--secrets-fd": handed.fileno()}
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            *(word for flag, number in flags.items() for word in (flag, str(number))),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=prints_to,
            stderr=prints_to,
            env=public,
            pass_fds=tuple(flags.values()),
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), OWNER_DIED),
        )


def parted(environ: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """Return what a worker may have in its environment, and what it takes from ``--secrets-fd``."""
    names = credential_names(environ)
    public = {name: value for name, value in environ.items() if name not in names}
    return public, json.dumps({name: environ[name] for name in names}).encode()


async def _await_ready(child: WorkerChild, descriptor: int, timeout_s: float) -> str:
    try:
        async with asyncio.timeout(timeout_s):
            line = await _first_line(child, descriptor)
    except TimeoutError as exc:
        raise SetupError(
            f"the agent worker was not ready within {timeout_s:g} s{_last_words(child)}"
        ) from exc
    if not line.endswith(b"\n"):
        how = await _how_it_ended(child)
        words = _last_words(child) or (_NO_SERVE if child.status == 0 else "")
        raise SetupError(f"the agent worker ended before it was ready{how}{words}")
    return _identity_of(line)


def _identity_of(line: bytes) -> str:
    """Return whom a ready line says is served.

    Raises:
        SetupError: nobody, for the reason that it gives; or it is no ready line.
    """
    try:
        said = json.loads(line)
        member = "identity" if said["ready"] is True else "error"
        text = said[member]
    except (ValueError, LookupError, TypeError, RecursionError) as exc:
        raise _no_ready_line() from exc
    if not isinstance(text, str):
        raise _no_ready_line()
    if member == "identity":
        return text
    raise SetupError(for_terminal(text, REASON_LIMIT))


def _no_ready_line() -> SetupError:
    return SetupError(
        "what the agent worker wrote to its --ready-fd is no ready line; "
        "leave that to agent_worker.serve"
    )


async def _first_line(child: WorkerChild, descriptor: int) -> bytes:
    """Return the first line, cut short where the worker ended; raises SetupError, TimeoutError."""
    reading = asyncio.ensure_future(_read_line(descriptor))
    gone = asyncio.ensure_future(child.died())
    try:
        await asyncio.wait((reading, gone), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((reading,), timeout=LAST_LINE_TIMEOUT_S)
        if reading.done():
            return reading.result()
    finally:
        reading.cancel()
        gone.cancel()
        await asyncio.wait((reading, gone))
    raise SetupError(
        "the agent worker ended before it was ready and left a process behind; a worker stays in "
        f"the foreground{_last_words(child)}"
    )


async def _how_it_ended(child: WorkerChild) -> str:
    """Return its signal or status, in brackets; its pipe closes a moment before it is gone."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_TIMEOUT_S):
            await child.died()
    name = signals.name_of(child.status)
    if not name and child.status > 1:
        name = f"status {child.status}"
    return f" ({name})" if name else ""


async def _read_line(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READY_LIMIT_BYTES)
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        return await reader.readline()
    except ValueError as exc:  # longer than the limit
        raise _no_ready_line() from exc
    finally:
        transport.close()


def _last_words(child: WorkerChild) -> str:
    words = child.last_words()
    return f": {words[-1]}" if words else ""


def _close(ready_fd: int, owner_fd: int, log: IO[bytes] | None) -> None:
    os.close(ready_fd)
    os.close(owner_fd)
    if log is not None:
        log.close()
