from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import MemoryFullError, MemoryInputError
from fisk_ai.memory import limits
from fisk_ai.memory.store import Memory


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("", "is empty"),
        ("a" * 201, "too long"),
        ("/" * 201, "too long"),
        ("a b", "not allowed"),
        ("a/b", "not allowed"),
        ("./a", "not allowed"),
        ("a\n", "not allowed"),
        ("é", "not allowed"),
        (".a..", "begins or ends with a dot"),
        ("a..", "begins or ends with a dot"),
        ("a..b", "two dots in a row"),
    ],
)
def test_a_bad_key_is_refused_for_the_first_rule_it_breaks(key: str, says: str) -> None:
    with pytest.raises(MemoryInputError, match=says):
        limits.check_key(key)
    assert not limits.is_legal_key(key)


@pytest.mark.parametrize("key", ["a", "A.b-c_d=e", "-", "=", "a" * 200, "0.1.2"])
def test_a_good_key_passes(key: str) -> None:
    limits.check_key(key)
    assert limits.is_legal_key(key)


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("plain", "plain"),
        (" \t a \r\n b ", "a b"),
        ("a\x00\x1f\x7f\x9fb", "a b"),
        ("a\u0085\u00a0\u2028\u3000b", "a b"),
        ("\u200bzero width stays", "\u200bzero width stays"),
        ("x" * 501, "x" * 500),
        ("x" * 499 + " y", "x" * 499 + " "),
        ("\ud83d", "\ufffd"),
    ],
)
def test_a_description_becomes_one_line_of_at_most_500_characters(
    given_text: str, kept: str
) -> None:
    assert limits.normal_description(given_text) == kept


@pytest.mark.parametrize("text", ["", "  ", "\x00\n\x85"])
def test_a_description_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(MemoryInputError, match="description is empty"):
        limits.normal_description(text)


@given(st.text())
def test_a_normal_description_is_a_line_and_normal_up_to_its_last_blank(text: str) -> None:
    try:
        line = limits.normal_description(text)
    except MemoryInputError:
        assert not any(character.isprintable() and character != " " for character in text)
        return
    assert len(line) <= limits.DESCRIPTION_LIMIT
    assert len(line.splitlines()) == 1
    assert limits.normal_description(line) == line.rstrip()


def test_a_content_may_have_65536_bytes_and_no_more() -> None:
    fits = "é" * 32768
    assert limits.checked("k", "d", fits) == Memory("d", fits)
    with pytest.raises(MemoryInputError, match="65537 bytes, the limit is 65536"):
        limits.checked("k", "d", fits + "x")


def test_key_description_and_content_are_checked_in_this_order() -> None:
    large = "x" * 65537
    with pytest.raises(MemoryInputError) as caught:
        limits.checked("", "", large)
    assert caught.value.key == "key"
    with pytest.raises(MemoryInputError) as caught:
        limits.checked("k", "", large)
    assert caught.value.key == "description"
    with pytest.raises(MemoryInputError) as caught:
        limits.checked("k", "d", large)
    assert caught.value.key == "content"


def test_a_lone_surrogate_in_a_content_becomes_the_replacement_character() -> None:
    assert limits.checked("k", "d", "a\ud83db").content == "a\ufffdb"


def test_there_is_room_for_1024_memories() -> None:
    limits.check_room(1023)
    with pytest.raises(MemoryFullError, match="memory is full"):
        limits.check_room(1024)
