"""A terminal holds as much of its text as there is room for, to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.blocks import TEXT_LIMIT, TRIM_NOTE
from fisk_ai.a2a.last_words import fitted

ALPHABET = 'aé€😀"\\\n\x01 '
"""One to four bytes a character, and escapes of two and six."""


REQUEST = m.RequestPrompt(**m.request_header(m.Sender(name="caller"), "agent"), prompt="Hi")
HEADER = m.reply_header(REQUEST, "agent")
"""One for all: the length of a time differs."""


def a_result(text: str) -> m.Result:
    return m.Result(**HEADER, stop_reason="end_turn", text=text)


def an_error(text: str) -> m.ErrorTerminal:
    return m.ErrorTerminal(**HEADER, error=text, code="failed")


NOTED_BYTES = codec.size_bytes(structs.replace(a_result(TRIM_NOTE), sequence=7))


def told(terminal: m.Result | m.ErrorTerminal, room_bytes: int) -> str:
    form = fitted(terminal, sequence=7, room_bytes=room_bytes)
    assert form is not None
    assert form.sequence == 7
    assert len(codec.encode(form)) <= room_bytes
    return form.text if isinstance(form, m.Result) else form.error


@given(st.text(ALPHABET, min_size=200, max_size=400), st.integers(0, 150))
def test_a_text_is_kept_up_to_the_last_character_that_fits(text: str, spare_bytes: int) -> None:
    room_bytes = NOTED_BYTES + spare_bytes
    kept = told(a_result(text), room_bytes).removesuffix(TRIM_NOTE)
    assert text.startswith(kept)
    assert codec.written_bytes(kept) <= spare_bytes
    assert codec.written_bytes(text[: len(kept) + 1]) > spare_bytes


@given(st.text(ALPHABET, max_size=300))
def test_a_text_that_just_fits_is_whole_and_with_a_byte_less_it_is_not(text: str) -> None:
    room_bytes = codec.size_bytes(structs.replace(a_result(text), sequence=7))
    assert told(a_result(text), room_bytes) == text
    smaller = fitted(a_result(text), sequence=7, room_bytes=room_bytes - 1)
    assert smaller is None or (isinstance(smaller, m.Result) and smaller.text != text)


@given(st.text("`~ -a\n", min_size=120, max_size=400), st.integers(0, 100))
def test_a_text_with_any_blocks_of_code_fits_its_room(text: str, spare_bytes: int) -> None:
    cut = told(a_result(text), NOTED_BYTES + spare_bytes)
    assert cut == text or cut.endswith(TRIM_NOTE)


def test_a_longer_fence_before_the_end_costs_no_more_than_its_own_length() -> None:
    text = "~~~~~~~~\n" + "x" * 500 + "\n~~~~~~~~\n~~~\n" + "y" * 500
    kept = told(a_result(text), NOTED_BYTES + 530).removesuffix(TRIM_NOTE)
    assert kept.startswith(text[:510])


def test_an_answer_with_no_room_for_the_note_has_no_form() -> None:
    room_bytes = NOTED_BYTES - 1
    assert fitted(a_result("x" * 500), sequence=7, room_bytes=room_bytes) is None


@pytest.mark.parametrize("character", ["a", "é", "\n"])
def test_an_answer_that_is_too_long_fills_the_message(character: str) -> None:
    kept = told(a_result(character * 900_000), codec.MESSAGE_LIMIT)
    room_bytes = codec.MESSAGE_LIMIT - codec.written_bytes(kept)
    assert room_bytes < 600


def test_an_error_is_cut_to_the_limit_of_one_text_however_much_room_there_is() -> None:
    kept = told(an_error("x" * 100_000), codec.MESSAGE_LIMIT)
    assert kept == "x" * TEXT_LIMIT + TRIM_NOTE
    short = told(an_error("x" * 100_000), 2_000)
    assert short.endswith("x" + TRIM_NOTE)
