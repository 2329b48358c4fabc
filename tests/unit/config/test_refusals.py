from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import cast

import pytest

from fisk_ai.config import Config, Mode
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]


@pytest.mark.parametrize(
    ("text", "message", "key"),
    [
        (
            "harness: {pii: {mode: Hide}}",
            'invalid harness.pii.mode "Hide": must be redact, reject or off',
            "harness.pii.mode",
        ),
        (
            f"llm: {{reasoning_effort: {'a' * 33}}}",
            "invalid llm.reasoning_effort: over 32 characters",
            "llm.reasoning_effort",
        ),
        (
            "llm: {reasoning_effort: High2}",
            'invalid llm.reasoning_effort "High2": letters, underscores and hyphens only',
            "llm.reasoning_effort",
        ),
        (
            "expose: {agent: {a2a: {max_concurrent_tools: -1}}}",
            "invalid expose.agent.a2a.max_concurrent_tools -1: must not be negative",
            "expose.agent.a2a.max_concurrent_tools",
        ),
        (
            "expose: {agent: {a2a: {max_concurrent_tools: 1025}}}",
            "invalid expose.agent.a2a.max_concurrent_tools 1025: must not exceed 1024",
            "expose.agent.a2a.max_concurrent_tools",
        ),
        (
            "harness: {tool_timeout: 30}",
            (
                'invalid harness.tool_timeout "30": invalid duration: write numbers with units,'
                " such as 90s or 1h30m"
            ),
            "harness.tool_timeout",
        ),
        (
            "harness: {tool_timeout: 1H}",
            'invalid harness.tool_timeout "1H": invalid duration: invalid unit H',
            "harness.tool_timeout",
        ),
        (
            "llm: {budget: {max_tokens: -5}}",
            "invalid llm.budget.max_tokens -5: must not be negative",
            "llm.budget.max_tokens",
        ),
        (
            "llm: {budget: {max_output_tokens: -5}}",
            "invalid llm.budget.max_output_tokens -5: must not be negative",
            "llm.budget.max_output_tokens",
        ),
        (
            "llm: {budget: {max_iterations: -5}}",
            "invalid llm.budget.max_iterations -5: must not be negative",
            "llm.budget.max_iterations",
        ),
        (
            "harness: {knowledge: {citations: [{pattern: a, replace: b}, {replace: b}]}}",
            (
                "invalid harness.knowledge.citations[1]: pattern is required, an empty pattern"
                " matches every document path"
            ),
            "harness.knowledge.citations[1]",
        ),
        (
            "harness: {knowledge: {citations: [{pattern: a}]}}",
            "invalid harness.knowledge.citations[0]: replace is required",
            "harness.knowledge.citations[0]",
        ),
        (
            "harness: {knowledge: {embeddings: {api_key_env: A, api_key_file: b}}}",
            (
                "harness.knowledge.embeddings.api_key_env and"
                " harness.knowledge.embeddings.api_key_file are both set: keep one"
            ),
            "harness.knowledge.embeddings",
        ),
    ],
)
def test_a_value_that_can_never_be_meant_is_refused(
    refusal: Refusal, text: str, message: str, key: str
) -> None:
    error = refusal(text)
    place, _, said = str(error).partition(": " + message)
    assert (re.sub(r"\d+$", "N", place), said, error.key) == (
        "checking config: agent.yaml:1:N",
        "",
        key,
    )


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("identity: x\nharness:\n  tool_timeout: 30\n", "3:3: invalid harness.tool_timeout "),
        ("llm:\n  budget:\n    max_tokens: -5\n", "3:5: invalid llm.budget.max_tokens -5: "),
        ("llm:\n  reasoning_effort: ' HIGH!'\n", '2:3: invalid llm.reasoning_effort " HIGH!": '),
        ("identity: a.b\n", '1:1: identity "a.b" is invalid: '),
        ("harness: {knowledge: {citations: [{}]}}", "1:35: invalid harness.knowledge.citations[0]"),
        ("llm: {}\nremote_tools: [{}]", "2:1: remote_tools host is missing a name"),
    ],
)
def test_a_value_that_is_refused_after_reading_is_told_with_its_place(
    refusal: Refusal, text: str, start: str
) -> None:
    assert str(refusal(text)).startswith(f"checking config: agent.yaml:{start}")


def test_a_key_that_is_missing_has_no_place(refusal: Refusal) -> None:
    assert str(refusal("identity: x", Mode.AGENT)).startswith("system_prompt is required")


FAULTS: list[tuple[str, object, str]] = [
    ("harness.pii.mode", "x", ""),
    ("llm.reasoning_effort", "9", ""),
    ("expose.agent.mcp.confirm_over_mcp", "x", ""),
    ("expose.agent.mcp.builtins", ["x"], ""),
    ("expose.agent.mcp.max_concurrent_tools", -1, ""),
    ("expose.agent.mcp.tool_timeout", "x", ""),
    ("expose.agent.a2a.max_concurrent_tools", -1, ""),
    ("expose.agent.a2a.tool_timeout", "x", ""),
    ("expose.agent.a2a.request_timeout", "x", ""),
    ("expose.agent.a2a.prompts.approve", "x", ""),
    ("expose.agent.a2a.prompts.approvals", "x", ""),
    ("expose.agent.a2a.prompts.elicit_max", "x", ""),
    ("expose.agent.jobs.approvals", "x", ""),
    ("expose.agent.slack.answer_grace", "x", ""),
    ("expose.agent.slack.events", "x", ""),
    ("expose.agent.slack.approvers", [], ""),
    ("expose.agent.web.listen", "x", ""),
    ("harness.tool_timeout", "x", ""),
    ("mcp_clients", [{"timeout": "0"}], ""),
    ("llm.budget.max_tokens", -1, ""),
    ("llm.budget.max_output_tokens", -1, ""),
    ("llm.budget.max_iterations", -1, ""),
    ("llm.budget.call_timeout", "x", ""),
    ("harness.tools", [{}], ""),
    ("harness.knowledge.citations", [{}], "harness.knowledge.citations[0]"),
    ("harness.knowledge.embeddings.timeout", "x", ""),
    ("global_flags", ["x"], ""),
    ("identity", "a b", ""),
    ("remote_tools", [{}], ""),
]


def _faulty(faults: list[tuple[str, object, str]]) -> str:
    written: dict[str, object] = {"expose": {"agent": {"mcp": {}}}}
    for path, value, _ in faults:
        *blocks, name = path.split(".")
        block = written
        for part in blocks:
            block = cast("dict[str, object]", block.setdefault(part, {}))
        block[name] = value
    return json.dumps(written)


@pytest.mark.parametrize("start", range(len(FAULTS)))
def test_of_many_faults_the_first_in_the_documented_order_is_told(
    refusal: Refusal, start: int
) -> None:
    path, _, key = FAULTS[start]
    assert refusal(_faulty(FAULTS[start:]), Mode.SERVE).key == (key or path)


def test_faults_come_before_unbuilt_keys_and_those_before_what_a_mode_needs(
    refusal: Refusal,
) -> None:
    assert refusal(_faulty(FAULTS[-1:]), Mode.SERVE).key == "remote_tools"
    assert refusal(_faulty([]), Mode.SERVE).key == "expose.agent.mcp"


def test_a_refusal_repeats_a_bounded_and_printable_value(refusal: Refusal) -> None:
    message = str(refusal("identity: " + '"' + "x" * 5000 + '\\e[31m"'))
    assert len(message) < 400
    message = str(refusal('identity: "\\e[31m\\u202e"'))
    assert "\\u001b[31m\\u202e" in message
