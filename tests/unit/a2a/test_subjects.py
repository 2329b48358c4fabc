"""No text from outside becomes more than one token of a subject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import subjects
from fisk_ai.config.import_rules import IDENTITY_LIMIT
from fisk_ai.errors import ProtocolError


def test_the_subjects_are_those_other_implementations_use() -> None:
    assert subjects.task("billing") == "choria.fisk-ai.task.billing"
    assert subjects.discovery("billing") == "choria.fisk-ai.discovery.billing"
    assert subjects.cancel("billing", "R1") == "choria.fisk-ai.cancel.billing.R1"
    assert subjects.elicit("billing", "R1") == "choria.fisk-ai.elicit.billing.R1"


@given(st.text(max_size=80))
def test_a_part_is_one_plain_token_or_no_subject(text: str) -> None:
    try:
        subject = subjects.cancel(text, text)
    except ProtocolError:
        return
    tokens = subject.split(".")
    assert tokens == ["choria", "fisk-ai", "cancel", text, text]
    assert text.isascii()
    assert not set("*> \t\r\n") & set(subject)


@pytest.mark.parametrize("word", ["", "a.b", "*", ">", "abc\n", "../x", "é"])
def test_a_word_that_could_be_more_than_a_token_is_refused(word: str) -> None:
    with pytest.raises(ProtocolError):
        subjects.task(word)


def test_a_request_tag_over_its_limit_names_no_subject() -> None:
    assert subjects.cancel("a", "r" * 64)
    with pytest.raises(ProtocolError, match="64"):
        subjects.cancel("a", "r" * 65)


def test_an_identity_over_its_limit_names_no_subject_and_no_agent() -> None:
    assert len(subjects.cancel("a" * IDENTITY_LIMIT, "r" * 64)) < 256
    with pytest.raises(ProtocolError, match="128"):
        subjects.task("a" * (IDENTITY_LIMIT + 1))
