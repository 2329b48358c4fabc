"""A short soak: the long one is ``make soak``. And the books, which have to see what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.sessions.jetstream import StreamStore
from fisk_ai.sessions.records import ToolResult
from fisk_ai.testing.application import RecordedCall
from fisk_ai.testing.persistence import Books
from fisk_ai.testing.session_records import assistant, result, terminal, write
from fisk_ai.testing.soak import soak

LENGTH_S = 8.0
SEED = 11


@pytest.mark.fault
@pytest.mark.timeout(240)
async def test_a_fleet_that_is_killed_while_it_works_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    report = await soak(tmp_path, length_s=LENGTH_S, seed=SEED)
    assert report.holds, (report.text(), report.lost)
    assert report.worker_kills, report.text()
    assert report.broker_kills, report.text()


def call(ref: str, pid: int) -> RecordedCall:
    return RecordedCall(words=(), call_ref=ref, directory=Path(), pid=pid, ended=True)


@pytest.mark.integration
async def test_a_step_that_ran_behind_its_record_is_seen_and_one_that_a_death_cost_is_not(
    runs: StreamStore,
) -> None:
    answered = result("a", "42\n")
    assert isinstance(answered, ToolResult)
    await write(runs, "one", assistant("a"), answered, terminal())
    assert (await Books.audit(runs, [call("one/a", 42)])).repeated == 0
    spare = await Books.audit(runs, [call("one/a", 7), call("one/a", 42)])
    assert (spare.repeated, spare.spare) == (0, 1)
    assert (await Books.audit(runs, [call("one/a", 42), call("one/a", 7)])).repeated == 1
    assert (await Books.audit(runs, [])).repeated == 1
