"""What a model's API may answer instead of an answer: told apart, no success, and resumable."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest

from fisk_ai.testing.command import Agent, session_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

Wire = Mapping[str, object]

CALL: Wire = {
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "say", "input": {"message": "Moo"}}],
    "stop_reason": "tool_use",
}
ANSWER: Wire = {"content": [{"type": "text", "text": "It says Moo."}]}
TOO_LONG: Wire = {"status": 400, "error": "prompt is too long: 9 tokens > 8 maximum"}
ENDINGS: Mapping[str, tuple[Wire, str]] = {
    "not_authorised": (
        {"status": 401, "error_type": "authentication_error", "error": "invalid x-api-key"},
        "invalid x-api-key",
    ),
    "not_allowed": (
        {"status": 403, "error_type": "permission_error", "error": "no access to this model"},
        "no access to this model",
    ),
    "no_message": ({"raw": "<html>Bad gateway</html>"}, "no message"),
}
SPOKEN: Mapping[str, tuple[Wire, str]] = {
    "refused": (
        {"content": [{"type": "text", "text": "No."}], "stop_reason": "refusal"},
        "refus",
    ),
    "cut_off": (
        {"content": [{"type": "text", "text": "It sa"}], "stop_reason": "max_tokens"},
        "the answer is incomplete",
    ),
}
"""Replies that are recorded, so asking again would pay for another."""


@pytest.mark.parametrize("name", ENDINGS)
def test_a_run_without_an_answer_fails_in_words_and_a_resume_repeats_no_command(
    agent: Agent, serve: Callable[..., str], name: str
) -> None:
    instead, words = ENDINGS[name]
    flags = ("--base-url", serve(CALL, instead, ANSWER))
    environ = {"ANTHROPIC_API_KEY": "sk-secret"}
    failed = agent.run("run", *flags, "go", environ=environ)
    assert (failed.status, failed.out) == (1, "")
    last = failed.err.splitlines()[-1]
    assert last.startswith("fisk-ai: error: ")
    assert words in last
    assert "sk-secret" not in failed.err
    session = session_of(failed.err)
    assert f"&& fisk-ai run --resume {session}" in failed.err
    resumed = agent.run("run", *flags, "--resume", session, environ=environ)
    assert (resumed.status, resumed.out) == (0, "It says Moo.\n")
    assert agent.application.count("say") == 1


def test_a_conversation_too_long_for_its_model_goes_on_with_another(
    agent: Agent, serve: Callable[..., str]
) -> None:
    flags = ("--base-url", serve(CALL, TOO_LONG, TOO_LONG, ANSWER))
    environ = {"ANTHROPIC_API_KEY": "sk-secret"}
    failed = agent.run("run", *flags, "go", environ=environ)
    session = session_of(failed.err)
    again = agent.run("run", *flags, "--resume", session, environ=environ)
    for refused in (failed, again):
        assert (refused.status, refused.out) == (1, "")
        assert "prompt is too long" in refused.err.splitlines()[-1]
        assert "begin a new conversation" in refused.err.splitlines()[-1]
        assert "resume with: " not in refused.err
        assert "a model with more room, set it and go on with: " in refused.err
    configuration = agent.home / "agent.yaml"
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(re.sub(r"model: .*?(?=[,}\n])", "model: roomy", text), "utf-8")
    resumed = agent.run("run", *flags, "--resume", session, "--force", environ=environ)
    assert (resumed.status, resumed.out) == (0, "It says Moo.\n")
    assert agent.application.count("say") == 1


@pytest.mark.parametrize("name", SPOKEN)
def test_a_reply_that_is_no_answer_fails_and_is_not_asked_for_again(
    agent: Agent, serve: Callable[..., str], name: str
) -> None:
    spoken, words = SPOKEN[name]
    flags = ("--base-url", serve(CALL, spoken, ANSWER))
    environ = {"ANTHROPIC_API_KEY": "sk-secret"}
    failed = agent.run("run", *flags, "go", environ=environ)
    assert failed.status == 1
    assert words in failed.err.splitlines()[-1]
    assert "resume with" not in failed.err
    again = agent.run("run", *flags, "--resume", session_of(failed.err), environ=environ)
    assert (again.status, again.out) == (1, "")
    assert again.err.splitlines()[-1] == failed.err.splitlines()[-1]
    assert agent.application.count("say") == 1
