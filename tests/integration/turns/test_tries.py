"""How often a turn may be begun, and how long it waits in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_worker.channels import turn_tries
from fisk_ai.a2a.durable import headers
from fisk_ai.bus.stored import Stored

STEPS = st.integers(min_value=0, max_value=2**63)


def begun(number: int, journal: int) -> Stored:
    return Stored("s", 1, b"", {headers.TRY: str(number), headers.JOURNAL: str(journal)})


@given(STEPS)
def test_a_turn_that_nobody_began_is_at_its_first_try(last_seq: int) -> None:
    assert turn_tries.number_of(None, last_seq) == 1


@given(st.integers(min_value=0, max_value=9), STEPS, STEPS)
def test_a_try_counts_where_the_session_did_not_move(number: int, before: int, now: int) -> None:
    expected = number + 1 if before == now else 1
    assert turn_tries.number_of(begun(number, before), now) == expected


@given(st.integers(min_value=-3, max_value=10_000))
def test_a_turn_waits_longer_each_time_and_never_over_a_minute(deliveries: int) -> None:
    now, later = turn_tries.delay_s(deliveries), turn_tries.delay_s(deliveries + 1)
    assert 5.0 <= now <= later <= 60.0


def test_a_turn_waits_as_long_as_the_page_says() -> None:
    assert [turn_tries.delay_s(n) for n in range(1, 7)] == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
