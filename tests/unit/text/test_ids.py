from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.text import ids

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _number(ksuid: str) -> int:
    number = 0
    for character in ksuid:
        number = number * 62 + ALPHABET.index(character)
    return number


def test_a_ksuid_is_its_second_and_sixteen_random_bytes() -> None:
    before = int(time.time())
    fresh = ids.ksuid()
    second, _ = divmod(_number(fresh), 2**128)
    assert len(fresh) == 27
    assert before <= second + 1_400_000_000 <= int(time.time())


def test_ksuids_of_later_seconds_sort_behind_and_none_repeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    for second in (1_400_000_000, 1_400_000_001, 1_700_000_000, 2_000_000_000):
        monkeypatch.setattr(ids.time, "time", lambda at=second: at + 0.9)
        made += sorted(ids.ksuid() for _ in range(3))
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(ids.valid_session_id(one) and ids.valid_token(one) for one in made)


@pytest.mark.parametrize("text", ["a", "0", "t-" + "0" * 64, "a" * 128, "A_b-9"])
def test_a_name_of_plain_characters_may_name_a_session(text: str) -> None:
    assert ids.valid_session_id(text)


@pytest.mark.parametrize(
    "text",
    ["", "-x", "_x", "../x", "a.b", "*", ">", "a b", "a\n", "\na", "é", "٣", "a" * 129, "a\0"],
)
def test_anything_that_could_become_a_path_or_subject_may_not(text: str) -> None:
    assert not ids.valid_session_id(text)


@given(st.text())
def test_a_valid_token_is_a_single_subject_token(text: str) -> None:
    if ids.valid_token(text):
        assert text.isascii()
        assert not set(text) & set("./*> \t\r\n\0")


@pytest.mark.parametrize(("text", "valid"), [("-", True), ("a_b-C", True), ("a\n", False)])
def test_a_token_is_matched_whole(text: str, valid: bool) -> None:  # noqa: FBT001
    assert ids.valid_token(text) is valid
