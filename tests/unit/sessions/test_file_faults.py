"""What a file store is left with when its process dies on any line of its work."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fisk_ai import faults
from fisk_ai.faults import InjectedFault, Point
from fisk_ai.sessions import codec
from fisk_ai.sessions.file import FileStore
from fisk_ai.sessions.records import Payload
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.session_records import assistant, meta, result, terminal, user

Arm = Callable[..., None]

TURN: tuple[Payload, ...] = (
    assistant("a", "b"),
    result("a"),
    result("b"),
    assistant(say="end"),
    terminal(),
)

CHILD = """
import asyncio, sys
from pathlib import Path
from fisk_ai.sessions.file import FileStore
from fisk_ai.testing.session_records import assistant, meta, result, terminal

async def main():
    store = FileStore(Path(sys.argv[1]))
    journal = await store.create("one", meta())
    for payload in (
        assistant("a", "b"), result("a"), result("b"), assistant(say="end"), terminal()
    ):
        await journal.append(journal.last_seq() + 1, payload)

asyncio.run(main())
"""

APPEND_POINTS = (
    Point.JOURNAL_APPEND_BEFORE,
    Point.JOURNAL_APPEND_WRITTEN,
    Point.JOURNAL_APPEND_SYNCED,
)


def _die_at(fault: str, directory: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(directory)]
    ended = subprocess.run(command, env={faults.VARIABLE: f"{fault}=kill"}, timeout=15, check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.fault
@pytest.mark.parametrize("point", APPEND_POINTS)
@pytest.mark.parametrize(
    ("passed", "written"),
    [("meta", 0), ("assistant", 1), ("tool_result", 2), ("tool_result#2", 3), ("terminal", 5)],
)
async def test_whoever_comes_after_a_kill_goes_on_from_what_was_recorded(
    store: FileStore, directory: Path, point: Point, passed: str, written: int
) -> None:
    _die_at(f"{point}:{passed}", directory)
    durable = written + (point is not Point.JOURNAL_APPEND_BEFORE)
    if durable == 0:
        assert await store.list(Filter()) == []
        journal = await store.create("one", meta())
    else:
        assert (await store.load("one")).last_seq == durable
        journal = await store.open("one")
    for payload in TURN[journal.last_seq() - 1 :]:
        await journal.append(journal.last_seq() + 1, payload)
    assert tuple(record.payload for record in await journal.records())[1:] == TURN
    await journal.close()
    assert (await store.load("one")).status == "completed"


@pytest.mark.fault
@pytest.mark.parametrize("point", [Point.JOURNAL_CREATE_LOCKED, Point.JOURNAL_CREATE_OPENED])
async def test_a_kill_while_a_session_is_created_leaves_its_id_usable(
    store: FileStore, directory: Path, point: Point
) -> None:
    _die_at(point, directory)
    assert await store.list(Filter()) == []
    journal = await store.create("one", meta())
    await journal.close()
    assert (await store.load("one")).last_seq == 1


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> Arm:
    """Return what makes one point of this very process raise, once."""

    def at(point: Point, detail: str = "") -> None:
        armed = faults._read(f"{point}{':' if detail else ''}{detail}=raise")  # pyright: ignore[reportPrivateUsage] - armed here as a child is by its environment
        monkeypatch.setattr(faults, "_armed", armed)

    return at


@pytest.mark.parametrize("point", APPEND_POINTS)
async def test_a_retried_append_carries_the_bytes_of_the_first_attempt(
    store: FileStore, directory: Path, point: Point, arm: Arm
) -> None:
    journal = await store.create("one", meta())
    arm(point, "user")
    with pytest.raises(InjectedFault):
        await journal.append(2, user("x"))
    assert (journal.last_seq(), len(await journal.records())) == (1, 1)
    landed = (directory / "one.json").read_bytes().split(b"\n")[1]
    await journal.append(2, user("x"))
    await journal.append(3, user("y"))
    await journal.close()
    lines = (directory / "one.json").read_bytes().splitlines()
    assert landed in (b"", lines[1])
    assert [codec.decode(line).seq for line in lines] == [1, 2, 3]


async def test_another_record_may_follow_one_that_was_cut_away(store: FileStore, arm: Arm) -> None:
    journal = await store.create("one", meta())
    arm(Point.JOURNAL_APPEND_WRITTEN, "user")
    with pytest.raises(InjectedFault):
        await journal.append(2, user("x"))
    await journal.append(2, terminal("error"))
    await journal.close()
    assert [record.payload for record in await store.records("one")][1:] == [terminal("error")]


@pytest.mark.parametrize(
    ("point", "detail"),
    [
        (Point.JOURNAL_CREATE_LOCKED, ""),
        (Point.JOURNAL_CREATE_OPENED, ""),
        (Point.JOURNAL_APPEND_WRITTEN, "meta"),
        (Point.JOURNAL_APPEND_SYNCED, "meta"),
    ],
)
async def test_a_creation_that_failed_holds_nothing_and_leaves_no_session(
    store: FileStore, point: Point, detail: str, arm: Arm
) -> None:
    arm(point, detail)
    with pytest.raises(InjectedFault):
        await store.create("one", meta())
    assert await store.list(Filter()) == []
    journal = await store.create("one", meta())
    await journal.close()
