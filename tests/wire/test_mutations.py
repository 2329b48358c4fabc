"""Bytes that were once a message: a message again, or a refusal, and never anything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.errors import ProtocolError
from fisk_ai.testing.golden import GOLDEN, SHORT_OF_ID, raw
from fisk_ai.testing.mutations import mutated

BODIES = [codec.encode(message) for message, _, _ in GOLDEN]


@given(mutated(BODIES))
def test_a_mutated_message_is_read_or_refused(body: bytes) -> None:
    try:
        message = codec.decode(body)
    except ProtocolError:
        return
    assert codec.decode(codec.encode(message)) == message


@given(mutated(BODIES))
def test_a_peek_into_a_mutated_message_agrees_with_its_reading(body: bytes) -> None:
    peek = codec.peek(body)
    try:
        message = codec.decode(body)
    except ProtocolError:
        return
    assert peek == codec.Peek(m.protocol_of(message), message.request)


@given(st.sampled_from(sorted(SHORT_OF_ID)), st.integers(2, 2000))
def test_nesting_beyond_all_measure_is_read_past_or_refused(suffix: str, depth: int) -> None:
    nested = b"[" * depth * 50 + b"]" * depth * 50
    body = raw(suffix, SHORT_OF_ID[suffix])[:-1] + b',"novelty":' + nested + b"}"
    try:
        codec.decode(body)
    except ProtocolError:
        return
    assert codec.decode(body) == codec.decode(raw(suffix, SHORT_OF_ID[suffix]))
