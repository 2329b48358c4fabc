from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text import clock


@given(st.integers(-62_135_596_800 * 10**9, 253_402_300_799 * 10**9))
def test_a_written_moment_reads_back(ns: int) -> None:
    assert clock.rfc3339_ns(clock.rfc3339(ns)) == ns


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (-62_135_596_800 * 10**9, clock.UNSET),
    ],
)
def test_needless_digits_are_left_out(ns: int, text: str) -> None:
    assert clock.rfc3339(ns) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-07-24T11:15:02.5+02:00", "2026-07-24T09:15:02.5Z"),
        ("2026-07-24T00:15:02-23:59", "2026-07-25T00:14:02Z"),
        ("2026-07-24T09:15:02.1234567899Z", "2026-07-24T09:15:02.123456789Z"),
        ("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+01:00"),
    ],
)
def test_zones_are_read_and_digits_beyond_nanoseconds_dropped(text: str, same: str) -> None:
    assert clock.rfc3339_ns(text) == clock.rfc3339_ns(same)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-07-24",
        "2026-07-24T09:15:02",
        "2026-07-24 09:15:02Z",
        "2026-07-24T09:15:02z",
        "2026-07-24T09:15:02.Z",
        "2026-13-24T09:15:02Z",
        "2026-07-24T25:15:02Z",
        "2026-07-24T09:15:02+24:00",
        "2026-07-24T09:15:02Z\n",
        "٢٠٢٦-07-24T09:15:02Z",
    ],
)
def test_a_time_without_zone_or_sense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        clock.rfc3339_ns(text)


def test_a_moment_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="calendar"):
        clock.rfc3339(10**30)


def test_now_is_now() -> None:
    before = time.time_ns()
    assert before <= clock.rfc3339_ns(clock.rfc3339_now()) <= time.time_ns()
