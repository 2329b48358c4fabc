"""How long a failed job waits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.jobs.backoff import POLICIES, Backoff

_policies = st.sampled_from(list(POLICIES.values()))
_chances = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("name", "first_s", "jitter"),
    [("default", 70.8, 0.9), ("10m", 70.8, 0.9), ("1m", 3.95, 0.5), ("1h", 750.0, 0.9)],
)
def test_the_first_wait_is_that_of_the_engine(name: str, first_s: float, jitter: float) -> None:
    policy = POLICIES[name]
    assert policy.delay_s(1, chance=lambda: 0.0) == pytest.approx(first_s * jitter, abs=0.001)
    nearly = policy.delay_s(1, chance=lambda: 0.999999)
    assert nearly == pytest.approx(first_s * (jitter + 1), abs=0.002)


def test_half_a_millisecond_is_rounded_up() -> None:
    assert (
        Backoff(steps=1, least_s=0.0005, most_s=1.0, jitter=1.0).delay_s(1, chance=float) == 0.001
    )


@given(_policies, st.integers(-3, 10_000), _chances)
def test_a_wait_lies_between_the_jitter_and_one_interval_more(
    policy: Backoff, deliveries: int, chance: float
) -> None:
    interval = policy.interval_s(deliveries)
    waited = policy.delay_s(deliveries, chance=lambda: chance)
    assert policy.least_s <= interval < policy.most_s
    assert interval * policy.jitter - 0.001 <= waited <= interval * (policy.jitter + 1) + 0.001
    assert round(waited * 1000, 6) == int(round(waited * 1000, 6))


@given(_policies, st.integers(0, 100))
def test_later_deliveries_never_wait_less(policy: Backoff, deliveries: int) -> None:
    assert policy.interval_s(deliveries) <= policy.interval_s(deliveries + 1)
