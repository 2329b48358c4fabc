from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.config import parse_duration
from fisk_ai.errors import ConfigError

HOUR = 3600.0
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("5ns", 5e-9),
        ("5us", 5e-6),
        ("5\u00b5s", 5e-6),
        ("5\u03bcs", 5e-6),
        ("50ms", 0.05),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("90s", 90.0),
        ("2m", 120.0),
        ("1h30m", 5400.0),
        ("1d", DAY),
        ("1D", DAY),
        ("1w", 7 * DAY),
        ("1W", 7 * DAY),
        ("1M", 30 * DAY),
        ("1Y", 365 * DAY),
        ("1y", 365 * DAY),
        ("1Y2M3w4d5h6m7s", (365 + 60 + 21 + 4) * DAY + 5 * HOUR + 367),
        ("1.5d", 36 * HOUR),
        ("1.1w", 184 * HOUR),
        ("0.01d", 0.0),
        ("0.7M", 504 * HOUR),
        ("+1h", HOUR),
        ("-1m1d", -(DAY + 60)),
        ("-1.5d", -36 * HOUR),
        ("  10s\n", 10.0),
    ],
)
def test_a_duration_means_the_sum_of_its_parts(text: str, expected_s: float) -> None:
    assert parse_duration(text) == pytest.approx(expected_s, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("30", "write numbers with units"),
        (" 0 ", "write numbers with units"),
        ("-0", "write numbers with units"),
        ("h", "write numbers with units"),
        ("1h-30m", "write numbers with units"),
        ("1h 30m", "write numbers with units"),
        ("1h,30m", "write numbers with units"),
        ("--1h", "write numbers with units"),
        ("1h\x0030m", "write numbers with units"),
        ("\u0661h", "write numbers with units"),
        ("1e3s", "invalid unit e"),
        ("9" * 200 + "s", "write numbers with units"),
        ("1.2.3s", "1.2.3 is not a number"),
        (".s", ". is not a number"),
        ("1H", "invalid unit H"),
        ("1S", "invalid unit S"),
        ("1mo", "invalid unit mo"),
        ("293Y", "longer than 292 years"),
    ],
)
def test_what_is_no_duration_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=r"^invalid duration: ") as caught:
        parse_duration(text)
    assert reason in str(caught.value)


UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


@given(
    st.lists(
        st.tuples(st.integers(0, 9999), st.sampled_from(sorted(UNITS_NS))), min_size=1, max_size=6
    ),
    st.sampled_from(["", "+", "-"]),
)
def test_short_units_add_up_and_a_leading_minus_negates_all(
    parts: list[tuple[int, str]], sign: str
) -> None:
    text = sign + "".join(f"{number}{unit}" for number, unit in parts)
    total_s = sum(number * UNITS_NS[unit] for number, unit in parts) / 10**9
    assert parse_duration(text) == (-total_s if sign == "-" else total_s)


@given(st.decimals(0, 500, places=3, allow_nan=False), st.sampled_from("dDwWMyY"))
def test_each_long_part_counts_whole_hours_and_never_more_than_it_says(
    amount: object, unit: str
) -> None:
    hours = {"d": 24, "w": 168, "M": 720, "y": 8760}["M" if unit == "M" else unit.lower()]
    exact_h = float(f"{amount}") * hours
    if exact_h > 2_500_000:
        return
    parsed_h = parse_duration(f"{amount}{unit}") / HOUR
    assert parsed_h == int(parsed_h)
    assert exact_h - 1 < parsed_h <= exact_h + 1e-6


def seconds_or_reason(text: str) -> float | str:
    try:
        return parse_duration(text)
    except ConfigError as exc:
        return str(exc)


@given(st.text())
def test_any_text_is_a_number_of_seconds_or_a_refusal(text: str) -> None:
    outcome = seconds_or_reason(text)
    assert not isinstance(outcome, str) or outcome.startswith("invalid duration: ")
