"""What each duration means unwritten, at zero and below it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import pytest

from fisk_ai.config import Config
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]

ZERO, NEGATIVE = "must be greater than zero", "must not be negative"

AGENT = "expose.agent"
KEYS = [
    ("harness: {tool_timeout: %s}", "harness.tool_timeout_s", 300.0, 0.0),
    ("llm: {budget: {call_timeout: %s}}", "llm.budget.call_timeout_s", 120.0, None),
    ("expose: {agent: {mcp: {tool_timeout: %s}}}", f"{AGENT}.mcp.tool_timeout_s", 30.0, 30.0),
    ("expose: {agent: {a2a: {tool_timeout: %s}}}", f"{AGENT}.a2a.tool_timeout_s", 30.0, 30.0),
    (
        "expose: {agent: {a2a: {request_timeout: %s}}}",
        f"{AGENT}.a2a.request_timeout_s",
        120.0,
        None,
    ),
    (
        "expose: {agent: {a2a: {prompts: {elicit_max: %s}}}}",
        f"{AGENT}.a2a.prompts.elicit_max_s",
        900.0,
        None,
    ),
    ("expose: {agent: {slack: {answer_grace: %s}}}", f"{AGENT}.slack.answer_grace_s", 30.0, None),
    (
        "harness: {knowledge: {embeddings: {timeout: %s}}}",
        "harness.knowledge.embeddings.timeout_s",
        30.0,
        None,
    ),
]
"""A file with the key, its accessor, its seconds unwritten, and at zero; ``None`` refuses zero."""


@pytest.mark.parametrize(("text", "accessor", "unset_s", "zero_s"), KEYS)
def test_a_duration_means_the_same_in_every_file(
    read: Read, refusal: Refusal, text: str, accessor: str, unset_s: float, zero_s: float | None
) -> None:
    value = attrgetter(accessor)
    for unwritten in ("", "''", "~"):
        assert value(read(text % unwritten)) == unset_s
    assert value(read(text % "1m30s")) == 90.0
    for zero in ("0", "0s", "0.01d"):
        if zero_s is None:
            assert str(refusal(text % zero)).endswith(f'"{zero}": {ZERO}')
        else:
            assert value(read(text % zero)) == zero_s
    negative, key = refusal(text % "-1s"), accessor.removesuffix("_s")
    assert str(negative).endswith(f': invalid {key} "-1s": {ZERO if zero_s is None else NEGATIVE}')
    assert str(negative).startswith("checking config: agent.yaml:1:")
    assert negative.key == key
    assert f'invalid {key} "90": ' in str(refusal(text % "90"))
