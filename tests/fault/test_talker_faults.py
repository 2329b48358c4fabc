"""Processes that die around a deferral, a supplied answer and the change to a new session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from fisk_ai.faults import VARIABLE
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Deferred, Record, ToolResult
from fisk_ai.sessions.store import Filter

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

TALKER = Path(__file__).parent / "talker.py"
SESSION = "bench"
STEPS = ("before", "written", "synced")


class Ended(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    text: str
    error: str
    results: list[str]


@dataclass(frozen=True)
class Talker:
    """One agent on disk, run step by step in processes of its own."""

    directory: Path

    def run(self, *arguments: str, fault: str = "") -> subprocess.CompletedProcess[bytes]:
        environ = {**os.environ, **({VARIABLE: fault} if fault else {})}
        return subprocess.run(
            [sys.executable, str(TALKER), str(self.directory), *arguments],
            env=environ,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def kill(self, *arguments: str, at: str) -> None:
        done = self.run(*arguments, fault=f"{at}=kill")
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()

    def finish(self, *arguments: str) -> Ended:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr.decode()
        return msgspec.json.decode(done.stdout, type=Ended)

    def phoned(self) -> int:
        calls = self.directory / "calls"
        return len(calls.read_text(encoding="utf-8").splitlines()) if calls.exists() else 0

    @property
    def store(self) -> FileStore:
        return FileStore(self.directory / "runs")

    async def records(self) -> list[Record]:
        return await self.store.records(SESSION)


@pytest.fixture
def talker(tmp_path: Path) -> Talker:
    return Talker(tmp_path)


def supplied(records: list[Record]) -> list[ToolResult]:
    payloads = [record.payload for record in records]
    return [item for item in payloads if isinstance(item, ToolResult) and item.tool_use_id == "a"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_recorded_deferral_is_never_called_again(talker: Talker, step: str) -> None:
    talker.kill("begin", at=f"journal.append.{step}:deferred")
    recorded = any(isinstance(record.payload, Deferred) for record in await talker.records())
    assert recorded == (step != "before")
    assert talker.finish("resume").reason == "suspended"
    assert talker.phoned() == (1 if recorded else 2)
    ended = talker.finish("answer")
    assert (ended.text, sorted(ended.results)) == ("fine", ["seen", "they said yes"])


@pytest.mark.parametrize("place", ["tool_result", "terminal"])
async def test_a_death_behind_a_deferral_keeps_it(talker: Talker, place: str) -> None:
    talker.kill("begin", at=f"journal.append.before:{place}")
    assert talker.finish("resume").reason == "suspended"
    assert talker.phoned() == 1
    ended = talker.finish("answer")
    assert (ended.text, sorted(ended.results)) == ("fine", ["seen", "they said yes"])


@pytest.mark.parametrize(
    "place",
    [
        *(f"journal.append.{step}:claim" for step in STEPS),
        *(f"journal.append.{step}:tool_result" for step in STEPS),
        *("model.before", "journal.append.synced:assistant", "journal.append.synced:terminal"),
    ],
)
async def test_an_answer_lands_once_whenever_its_worker_dies(talker: Talker, place: str) -> None:
    assert talker.finish("begin").reason == "suspended"
    talker.kill("answer", at=place)
    landed = supplied(await talker.records())
    again = talker.finish("answer")
    if not landed:
        assert again.text == "fine"
    else:
        assert again.error in ("already_answered", "refused")
        status = (await talker.store.load(SESSION)).status
        ended = talker.finish("resume")
        assert ended.text == "fine" or status == "completed"
    assert len(supplied(await talker.records())) == 1
    assert talker.phoned() == 1
    assert (await talker.store.load(SESSION)).status == "completed"


ROTATION = [
    *("journal.create.locked#2", "journal.create.opened#2"),
    *(
        f"journal.append.{step}:{record}"
        for step in STEPS
        for record in ("meta#2", "terminal", "assistant#2", "terminal#2")
    ),
    *("model.before#2", "model.after#2"),
]


@pytest.mark.parametrize("place", ROTATION)
async def test_a_death_between_two_sessions_loses_neither(talker: Talker, place: str) -> None:
    talker.kill("rotate", at=place)
    rows = [row.run_id for row in await talker.store.list(Filter())]
    created = "create" not in place and place != "journal.append.before:meta#2"
    assert len(rows) == (2 if created else 1)
    old = talker.finish("reopen", SESSION)
    assert (old.reason, old.error) == ("suspended", "")
    state = await talker.store.load(SESSION)
    assert [message.role for message in state.messages] == ["user", "assistant"] * 2
    for session in rows:
        if session != SESSION:
            new = talker.finish("reopen", session)
            assert (new.reason, new.error) == ("suspended", "")
            assert (await talker.store.load(session)).meta.prompt == "fresh"
