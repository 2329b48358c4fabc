"""Which class a failure has, and what a person is told about it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.llm.anthropic.failures import ApiFailure, classify, read_failure, to_error
from fisk_ai.llm.model import Request
from fisk_ai.text.scrub import Scrub

BASE = Request(model="claude-x", system_blocks=(), messages=(), tools=(), max_output_tokens=10)

TOO_LONG = (
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000",
    "The request exceeds the context window of this model",
    "This model's maximum context length is 32768 tokens",
    "Input is too long for requested model.",
    "the request exceeds the available context size",
)


@pytest.mark.parametrize("text", TOO_LONG)
@pytest.mark.parametrize("status", [0, 400, 413])
def test_a_prompt_over_the_window_is_recognised(status: int, text: str) -> None:
    assert classify(ApiFailure(status, "invalid_request_error", text)) == "context_exceeded"


@pytest.mark.parametrize("text", TOO_LONG)
@pytest.mark.parametrize(("status", "expected"), [(429, "rate_limited"), (500, "failed")])
def test_other_statuses_are_not_read_for_the_window(status: int, text: str, expected: str) -> None:
    assert classify(ApiFailure(status, "x", text)) == expected


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid_request_error", "refused"),
        (401, "authentication_error", "refused"),
        (403, "permission_error", "refused"),
        (404, "not_found_error", "refused"),
        (413, "request_too_large", "context_exceeded"),
        (413, "", "refused"),
        (422, "", "refused"),
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "failed"),
        (502, "", "failed"),
        (503, "", "overloaded"),
        (529, "overloaded_error", "overloaded"),
        (0, "overloaded_error", "overloaded"),
        (0, "rate_limit_error", "rate_limited"),
        (0, "authentication_error", "refused"),
        (0, "timeout_error", "timeout"),
        (0, "api_error", "failed"),
        (0, "of_tomorrow", "failed"),
        (200, "overloaded_error", "overloaded"),
        (200, "of_tomorrow", "failed"),
        (307, "", "refused"),
    ],
)
def test_each_status_and_each_error_in_a_stream_has_its_class(
    status: int, kind: str, expected: str
) -> None:
    assert classify(ApiFailure(status, kind, "words")) == expected


@pytest.mark.parametrize(
    ("thinking", "effort", "hints"),
    [
        (True, "high", ["claude-x", "llm.thinking", "llm.reasoning_effort", "'high'"]),
        (False, "", ["claude-x", "remove the llm.thinking block", "enabled: false"]),
        (None, "high", ["claude-x", "llm.reasoning_effort", "'high'"]),
    ],
)
def test_a_400_hints_at_the_settings_that_were_sent(
    thinking: bool | None,  # noqa: FBT001 - a parameter of the table
    effort: str,
    hints: list[str],
) -> None:
    request = replace(BASE, thinking=thinking, reasoning_effort=effort)
    text = str(to_error(ApiFailure(400, "invalid_request_error", "bad"), request, scrub=Scrub()))
    assert text.startswith("the model API answered 400 (invalid_request_error): bad (")
    for hint in hints:
        assert hint in text


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "--api-key / ANTHROPIC_API_KEY"),
        (403, "--api-key / ANTHROPIC_API_KEY"),
        (404, "llm.model 'claude-x'"),
        (404, "--base-url / ANTHROPIC_BASE_URL"),
    ],
)
def test_a_refused_key_or_model_is_told_with_its_setting(status: int, hint: str) -> None:
    text = str(to_error(ApiFailure(status, "kind", "bad"), BASE, scrub=Scrub()))
    assert text.startswith(f"the model API answered {status} (kind): bad (check ")
    assert hint in text


@pytest.mark.parametrize("words", TOO_LONG)
def test_a_conversation_without_room_is_told_with_what_helps(words: str) -> None:
    text = str(to_error(ApiFailure(400, "kind", words), BASE, scrub=Scrub()))
    helps = "begin a new conversation, or set llm.model to a model with more room"
    assert text == f"the model API answered 400 (kind): {words} ({helps})"


def test_a_request_too_large_for_any_model_is_told_with_what_helps() -> None:
    text = str(to_error(ApiFailure(413, "request_too_large", "over 32 MB"), BASE, scrub=Scrub()))
    assert text.endswith(": over 32 MB (begin a new conversation)")


@pytest.mark.parametrize("status", [413, 429, 500])
def test_no_other_status_is_hinted_at(status: int) -> None:
    request = replace(BASE, thinking=True, reasoning_effort="high")
    text = str(to_error(ApiFailure(status, "kind", "bad"), request, scrub=Scrub()))
    assert text == f"the model API answered {status} (kind): bad"


def test_a_400_without_such_settings_is_left_alone() -> None:
    text = str(to_error(ApiFailure(400, "kind", "bad"), BASE, scrub=Scrub()))
    assert text == "the model API answered 400 (kind): bad"


def test_a_server_that_repeats_the_key_does_not_give_it_away() -> None:
    failure = ApiFailure(401, "kind", "no such key: sk-secret!")
    text = str(to_error(failure, BASE, scrub=Scrub("sk-secret")))
    assert "sk-secret" not in text
    assert "***" in text


SECRET = "sk-Q7QxQ-QZ9Q_Q"
INVISIBLE = st.lists(
    st.sampled_from(
        ["\x1b[0m", "\x1b[31;1m", "\x1b]0;t\x07", "\x1bM", "\u202a", "\u2066", "\u200b"]
    )
    | st.sampled_from(["\0", "\n", "\t", " ", "\x85", "\x7f", "\ud800", "\u00ad", "\ufeff"]),
    max_size=2,
).map("".join)


@given(
    st.lists(INVISIBLE, min_size=len(SECRET), max_size=len(SECRET)),
    st.sampled_from(["", "no such key: ", "x" * 55, "y" * 995, "\x1b[0m" * 9000]),
    st.sampled_from(["kind", "message", "body", "escaped"]),
)
def test_no_spelling_of_the_key_comes_through_in_whole_or_in_part(
    between: list[str], before: str, place: str
) -> None:
    spelled = "".join(a + b for a, b in zip(SECRET, between, strict=True))
    words = before + spelled
    failure = {
        "kind": lambda: ApiFailure(401, words, "no"),
        "message": lambda: ApiFailure(401, "kind", words),
        "body": lambda: read_failure(401, words.encode("utf-8", "surrogatepass")),
        "escaped": lambda: read_failure(401, json.dumps({"detail": words}).encode()),
    }[place]()
    shown = str(to_error(failure, BASE, scrub=Scrub(SECRET)))
    assert "Q" not in shown


def test_words_that_are_no_explanation_are_not_read() -> None:
    text = str(
        to_error(
            ApiFailure(500, "t", "\x1b[0m" * 20_000 + "sk-sec"), BASE, scrub=Scrub("sk-secret")
        )
    )
    assert text == "the model API answered 500 (t): an explanation too long to be shown"


def test_what_a_server_says_is_cleaned_and_bounded() -> None:
    text = str(
        to_error(
            ApiFailure(500, "\x1b[2J" * 99, "\x1b]0;x\x07a\n\u202eb" + "y" * 9999),
            BASE,
            scrub=Scrub(),
        )
    )
    assert "\x1b" not in text
    assert "\n" not in text
    assert "\u202e" not in text
    assert len(text) < 1200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"type":"error","error":{"type":"t","message":"m"}}',
            ApiFailure(500, "t", "m"),
        ),
        (b'{"error":{"message":"m"}}', ApiFailure(500, "", "m")),
        (b"<html>bad gateway</html>", ApiFailure(500, "", "<html>bad gateway</html>")),
        (b"\xff", ApiFailure(500, "", "\ufffd")),
        (b"", ApiFailure(500, "", "")),
        (b'{"error":"words"}', ApiFailure(500, "", '{"error":"words"}')),
        (b'{"detail":"words"}', ApiFailure(500, "", '{"detail":"words"}')),
        (b'{"error":{"type":"t"}}', ApiFailure(500, "t", "")),
    ],
)
def test_any_error_body_is_read(body: bytes, expected: ApiFailure) -> None:
    assert read_failure(500, body) == expected
