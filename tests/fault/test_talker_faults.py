"""Processes that die around a deferral, a supplied answer and the change to a new session."""

from __future__ import annotations

from pathlib import Path

import pytest

from fisk_ai.sessions.records import Deferred
from fisk_ai.sessions.store import Filter
from fisk_ai.testing.mortal import MortalAgent, recorded_results

pytestmark = [pytest.mark.fault, pytest.mark.timeout(120)]

TALKER = Path(__file__).parent / "talker.py"
SESSION = "bench"
STEPS = ("before", "written", "synced")


@pytest.fixture
def talker(tmp_path: Path) -> MortalAgent:
    return MortalAgent(tmp_path, TALKER, SESSION)


def phoned(talker: MortalAgent) -> int:
    return len(talker.lines("calls"))


@pytest.mark.parametrize("step", STEPS)
async def test_a_recorded_deferral_is_never_called_again(talker: MortalAgent, step: str) -> None:
    talker.kill("begin", at=f"journal.append.{step}:deferred")
    recorded = any(isinstance(record.payload, Deferred) for record in await talker.records())
    assert recorded == (step != "before")
    assert talker.finish("resume").reason == "suspended"
    assert phoned(talker) == (1 if recorded else 2)
    ended = talker.finish("answer")
    assert (ended.text, sorted(ended.results)) == ("fine", ["seen", "they said yes"])


@pytest.mark.parametrize("place", ["tool_result", "terminal"])
async def test_a_death_behind_a_deferral_keeps_it(talker: MortalAgent, place: str) -> None:
    talker.kill("begin", at=f"journal.append.before:{place}")
    assert talker.finish("resume").reason == "suspended"
    assert phoned(talker) == 1
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
async def test_an_answer_lands_once_whenever_its_worker_dies(
    talker: MortalAgent, place: str
) -> None:
    assert talker.finish("begin").reason == "suspended"
    talker.kill("answer", at=place)
    landed = "a" in recorded_results(await talker.records())
    again = talker.finish("answer")
    if not landed:
        assert again.text == "fine"
    else:
        assert again.error in ("already_answered", "refused")
        status = (await talker.store.load(SESSION)).status
        ended = talker.finish("resume")
        assert ended.text == "fine" or status == "completed"
    assert "a" in recorded_results(await talker.records())
    assert phoned(talker) == 1
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
async def test_a_death_between_two_sessions_loses_neither(talker: MortalAgent, place: str) -> None:
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
