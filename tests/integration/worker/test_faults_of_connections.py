"""What ends a worker that serves, and what does not."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from fisk_ai.testing.broker import running_server
from fisk_ai.testing.workshop import Workshop

pytestmark = pytest.mark.integration

_USER = "user: w, password: secret-4711"
_ALL = f"authorization {{ users: [ {{ {_USER} }} ] }}"
_LESS = (
    f"authorization {{ users: [ {{ {_USER}, permissions: {{"
    ' subscribe: { deny: "choria.fisk-ai.tool.>" } } } ] }'
)
_LENDING = """\
identity: watchman
application_path: {application}
expose: {{agent: {{a2a: {{serve_tools: true}}}}}}
"""


def _lending(workshop: Workshop, address: str) -> None:
    workshop.write("agent.yaml", _LENDING.format(application=workshop.application.path))
    workshop.url = address.replace("nats://", "nats://w:secret-4711@")


def _events(stderr: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in stderr.splitlines() if line.startswith(b"{")]


async def test_a_worker_that_lacks_a_right_drains_and_fails(
    workshop: Workshop, tmp_path: Path
) -> None:
    async with running_server(tmp_path / "server", f"listen: 127.0.0.1:-1\n{_LESS}") as address:
        _lending(workshop, address)
        worker = await workshop.start("--no-operator")
        assert await worker.ended() == 1
    faults = [each for each in _events(worker.stderr) if each["level"] == "error"]
    assert 'the broker does not allow the subscription to "choria.fisk-ai.tool.watchman"' in str(
        faults[-1]["error"]
    )
    assert b"secret-4711" not in worker.stderr


async def test_a_right_that_is_taken_away_ends_the_worker_that_used_it(
    workshop: Workshop, tmp_path: Path
) -> None:
    directory = tmp_path / "server"
    async with running_server(directory, f"listen: 127.0.0.1:-1\n{_ALL}") as address:
        _lending(workshop, address)
        worker = await workshop.start("--no-operator")
        assert worker.said == [{"ready": True, "identity": "watchman"}]
        file = directory / "server.conf"
        file.write_text(file.read_text(encoding="utf-8").replace(_ALL, _LESS), encoding="utf-8")
        pid = next(directory.glob("*.ports")).name.removesuffix(".ports").rpartition("_")[2]
        os.kill(int(pid), signal.SIGHUP)
        assert await worker.ended() == 1
