"""Numbers that carry a check digit count only with the right one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.agent.pii.scanner import build

digits = st.text("0123456789", min_size=11, max_size=11)
letters = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=18, max_size=18)


def luhn_digit(number: str) -> int:
    total = 0
    for place, digit in enumerate(reversed(number)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return -total % 10


def check_digits(country: str, account: str) -> int:
    number = "".join(str(int(character, 36)) for character in f"{account}{country}00")
    return 98 - int(number) % 97


def grouped(number: str, separator: str) -> str:
    return separator.join(number[start : start + 4] for start in range(0, len(number), 4))


@given(digits, st.sampled_from(["", " ", "-"]))
def test_a_card_counts_with_its_check_digit_alone(tail: str, separator: str) -> None:
    number = "4539" + tail
    right = luhn_digit(number)
    for last in range(10):
        text = f"card {grouped(number + str(last), separator)} of Bob"
        types = ("PAYMENT_CARD",) if last == right else ()
        assert build().scan(text).types == types


@given(letters, st.sampled_from(["", " "]), st.integers(2, 97))
def test_an_account_counts_with_its_check_digits_alone(
    account: str, separator: str, other: int
) -> None:
    right = check_digits("GB", account)
    for check in (right, other):
        text = f"pay {grouped(f'GB{check:02}{account}', separator)} TODAY"
        found = build().scan(text)
        if check == right:
            assert found.text == "pay [IBAN-REDACTED] TODAY"
        else:
            assert "IBAN" not in found.types
