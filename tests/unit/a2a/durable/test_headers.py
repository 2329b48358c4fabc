"""What turns say of themselves: encoded in one way, read strictly, and never twice the same."""

from __future__ import annotations

import hashlib
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.a2a import codec
from fisk_ai.a2a import messages as m
from fisk_ai.a2a.durable import headers
from fisk_ai.a2a.durable.channels import SLACK
from fisk_ai.a2a.durable.turn import (
    NewerBindingError,
    Sent,
    Turn,
    of_thread,
    place_of,
    read,
    request_of,
)
from fisk_ai.bus.jetstream import MESSAGE_ID
from fisk_ai.errors import ProtocolError
from fisk_ai.text.sanitise import clean_surrogates

THREAD = ("T01", "C02", "1712.0004")
EVENT = "slack:T01:C02:1712.0004"
TEXTS = st.text(min_size=1, max_size=60)
PARTS = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=20)
VISIBLE = string.ascii_letters + string.digits + "-._~%"


def prompt(event: str = EVENT, text: str = "hi") -> m.RequestPrompt:
    header = m.request_header(m.Sender(name="billing"), "billing", request=request_of(event))
    return m.RequestPrompt(**header, prompt=text)


def turn_of(event: str = EVENT) -> Turn:
    return of_thread(
        "billing", SLACK, THREAD, event=event, message=prompt(event), caller="ada lovelace/U1"
    )


def sent(turn: Turn, **changes: str) -> Sent:
    found = {**turn.headers(), **{name.replace("_", "-"): text for name, text in changes.items()}}
    return Sent(
        codec.encode(turn.message), {name: text for name, text in found.items() if text != "gone"}
    )


@given(TEXTS)
def test_any_text_comes_back_from_a_header(text: str) -> None:
    written = headers.encoded(text)
    assert set(written) <= set(VISIBLE)
    assert headers.decoded("X", written) == clean_surrogates(text)


@given(st.lists(PARTS, min_size=1, max_size=3).map(tuple))
def test_any_thread_comes_back_from_a_header(thread: tuple[str, ...]) -> None:
    written = headers.encoded_thread(thread)
    assert headers.decoded_thread(written) == tuple(map(clean_surrogates, thread))


@given(st.text(max_size=80))
def test_a_header_that_nobody_encoded_is_refused_or_is_plain(text: str) -> None:
    try:
        found = headers.decoded("X", text)
    except ProtocolError:
        return
    assert set(text) <= set(VISIBLE)
    assert headers.decoded("X", headers.encoded(found)) == found


def test_a_thread_is_written_as_gateways_write_it() -> None:
    assert headers.encoded_thread(THREAD) == "T01%00C02%001712.0004"


@pytest.mark.parametrize("text", ["", "a b", "a%0", "%zz", "%ff", "a" * 1025, "T%00", "%00C", "ä"])
def test_a_thread_that_cannot_be_one_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        headers.decoded_thread(text)


def test_the_request_of_an_event_is_the_beginning_of_its_digest() -> None:
    assert request_of(EVENT) == "s" + hashlib.sha256(EVENT.encode()).hexdigest()[:40]


def test_a_session_is_named_by_the_agent_and_the_thread() -> None:
    digest = hashlib.sha256("\0".join(("billing", *THREAD)).encode()).hexdigest()
    turn = turn_of()
    assert turn.session == f"s-{digest}"
    assert turn.reply_subject == (
        f"choria.fisk-ai.reply.billing.slack.{digest}.{turn.message.request}"
    )


def test_a_turn_is_read_as_it_was_published() -> None:
    turn = turn_of()
    assert read(sent(turn), "billing", SLACK) == turn


@pytest.mark.parametrize(
    "changes",
    [
        {MESSAGE_ID: "gone"},
        {MESSAGE_ID: "another:event"},
        {MESSAGE_ID: "with a blank"},
        {MESSAGE_ID: "x" * 513},
        {headers.BINDING: "gone"},
        {headers.BINDING: "0"},
        {headers.BINDING: "one"},
        {headers.THREAD: "gone"},
        {headers.THREAD: "T01"},
        {headers.SESSION: "s-x"},
        {headers.CALLER: "a b"},
        {headers.CALLER: "%"},
    ],
)
def test_a_turn_with_a_header_that_breaks_a_rule_is_none(changes: dict[str, str]) -> None:
    with pytest.raises(ProtocolError):
        read(sent(turn_of(), **changes), "billing", SLACK)


def test_a_turn_of_a_newer_binding_is_told_apart_from_one_that_is_none() -> None:
    with pytest.raises(NewerBindingError):
        read(sent(turn_of(), **{headers.BINDING: "2"}), "billing", SLACK)


@pytest.mark.parametrize("session", ["t-abc", "s-a.b", "s-*", "../x", ""])
def test_a_session_of_another_channel_is_named_by_no_turn(session: str) -> None:
    message = m.RequestResume(
        **m.request_header(m.Sender(name="op"), "billing", request=request_of(EVENT)),
        conversation_token="x",
    )
    found = {MESSAGE_ID: EVENT, headers.BINDING: "1", headers.SESSION: session}
    with pytest.raises(ProtocolError):
        read(Sent(codec.encode(message), found), "billing", SLACK)


def test_the_place_of_what_is_no_turn_is_its_thread_and_request() -> None:
    turn = turn_of()
    broken = Sent(b'{"protocol": "x", "request": "%s"}' % turn.message.request.encode())
    found = place_of(Sent(broken.body, turn.headers()), "billing", SLACK)
    assert found is not None
    assert found.reply_subject == turn.reply_subject
    assert place_of(broken, "billing", SLACK) is None


@pytest.mark.parametrize("request_tag", ["a.b", "*", ">", "a b", "x" * 65, ""])
def test_a_request_that_would_widen_a_subject_has_no_place(request_tag: str) -> None:
    body = b'{"protocol": "x", "request": "%s"}' % request_tag.encode()
    assert place_of(Sent(body, turn_of().headers()), "billing", SLACK) is None


@given(body=st.binary(max_size=200), names=st.dictionaries(TEXTS, st.text(max_size=30), max_size=4))
def test_any_message_of_the_queue_is_a_turn_or_is_refused(
    body: bytes, names: dict[str, str]
) -> None:
    hostile = Sent(body, {**turn_of().headers(), **names})
    with pytest.raises(ProtocolError):
        read(hostile, "billing", SLACK)
    place_of(hostile, "billing", SLACK)
