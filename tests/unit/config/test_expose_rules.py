from __future__ import annotations

from collections.abc import Callable

import pytest

from fisk_ai.config import Config
from fisk_ai.errors import ConfigError

Read = Callable[..., Config]
Refusal = Callable[..., ConfigError]

BASE = "expose: {agent: {%s}}"
WORDS = [
    ("mcp: {confirm_over_mcp: %s}", "mcp.confirm_over_mcp", ["auto", "always", "never"]),
    ("a2a: {prompts: {approve: %s}}", "a2a.prompts.approve", ["caller", "operator"]),
    ("a2a: {prompts: {approvals: %s}}", "a2a.prompts.approvals", ["deny", "park"]),
    ("jobs: {approvals: %s}", "jobs.approvals", ["deny", "park"]),
    ("slack: {events: %s}", "slack.events", ["status", "full"]),
]
DEFAULTS = {
    "mcp.confirm_over_mcp": "always",
    "a2a.prompts.approve": "caller",
    "a2a.prompts.approvals": "deny",
    "jobs.approvals": "deny",
    "slack.events": "status",
}


def value_of(config: Config, path: str) -> object:
    value: object = config.expose.agent
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(("template", "path", "words"), WORDS)
def test_a_key_takes_each_of_its_words_and_no_other(
    read: Read, refusal: Refusal, template: str, path: str, words: list[str]
) -> None:
    for legal in words:
        assert value_of(read(BASE % template % f"' {legal.upper()} '"), path) == legal
    assert value_of(read(BASE % template % "''"), path) == DEFAULTS[path]
    assert value_of(read(BASE % template % ""), path) == DEFAULTS[path]
    error = refusal(BASE % template % "Maybe")
    assert error.key == f"expose.agent.{path}"
    assert f'invalid expose.agent.{path} "Maybe": must be {", ".join(words[:-1])}' in str(error)
    assert str(error).endswith(f" or {words[-1]}")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("mcp: {}", "mcp.port", 8080),
        ("mcp: {port: 0, address: ''}", "mcp.address", "127.0.0.1"),
        ("mcp: {max_concurrent_tools: 0}", "mcp.max_concurrent_tools", 2),
        ("mcp: {builtins: [' ', '']}", "mcp.builtins", []),
        ("jobs: {}", "jobs.queue", "FISK_AI"),
        ("jobs: {}", "jobs.task_type", "fisk-ai:run"),
        ("jobs: {workers: -1}", "jobs.workers", 1),
        ("jobs: {max_payload: 0}", "jobs.max_payload", 524_288),
        ("slack: {workers: 0}", "slack.workers", 5),
        ("slack: {workers: 3}", "slack.max_waiting", 6),
        ("slack: {max_waiting: 4}", "slack.max_waiting", 4),
        ("slack: {context_lines: -1}", "slack.context_lines", 20),
        ("slack: {max_coalesced: 0}", "slack.max_coalesced", 5),
        ("slack: {approvers: [U01AB, ' S02CD ', U01AB]}", "slack.approvers", ["U01AB", "S02CD"]),
        ("slack: {}", "slack.approvers", None),
        ("web: {origins: ['https://a.example:8443']}", "web.listen", "127.0.0.1:8080"),
        ("web: {listen: '', origins: ['http://a']}", "web.listen", "127.0.0.1:8080"),
        ("web: {origins: ['http://a']}", "web.base_path", "/fisk/v1"),
    ],
)
def test_what_an_endpoint_leaves_open_is_filled_in(
    read: Read, text: str, path: str, expected: object
) -> None:
    assert value_of(read(BASE % text), path) == expected


@pytest.mark.parametrize("block", ["mcp", "jobs", "slack", "web", "a2a"])
def test_nothing_after_a_block_leaves_it_out(read: Read, block: str) -> None:
    assert getattr(read(BASE % f"{block}: ").expose.agent, block) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mcp: {max_concurrent_tools: -1}", "mcp.max_concurrent_tools -1: must not be negative"),
        ("mcp: {max_concurrent_tools: 1025}", "1025: must not exceed 1024"),
        ("slack: {approvers: []}", "slack.approvers lists nobody"),
        ("slack: {approvers: [' ']}", "slack.approvers lists nobody"),
        ("slack: {approvers: [alice]}", 'slack.approvers "alice": must be the id of a user'),
        ("slack: {approvers: [C0123]}", 'slack.approvers "C0123": must be the id of a user'),
        ("web: {}", "expose.agent.web.origins is required"),
        ("web: {origins: ['*']}", 'web.origins "*": must be an origin'),
        ("web: {origins: ['https://*.a']}", "must be an origin"),
        ("web: {origins: ['https://a/']}", "must be an origin"),
        ("web: {origins: ['https://a/path']}", "must be an origin"),
        ("web: {origins: ['https://u@a']}", "must be an origin"),
        ("web: {origins: ['ftp://a']}", "must be an origin"),
        ("web: {origins: ['https://A']}", "must be an origin"),
        ("web: {origins: ['https://a:x']}", "must be an origin"),
        ("web: {origins: ['http://a'], base_path: fisk}", 'base_path "fisk": must start with /'),
        ("web: {origins: ['http://a'], listen: ':80'}", 'listen ":80": must be host:port'),
        ("web: {origins: ['http://a'], listen: host}", 'listen "host": must be host:port'),
        ("web: {origins: ['http://a'], listen: 'h:99999'}", "must be host:port"),
        ("mcp: {builtins: [memory_read]}", '"memory_read" is not an accepted built-in name'),
        ("mcp: {builtins: [read_file, x]}", '"x" is not an accepted built-in name'),
        (
            "mcp: {builtins: [knowledge_search, ' knowledge_enumerate ', knowledge_search]}",
            "lists knowledge_search, knowledge_enumerate but knowledge is not enabled",
        ),
        ("mcp: {builtins: [read_file]}", "lists read_file but the tool in harness.tools is not"),
    ],
)
def test_what_an_endpoint_could_not_mean_is_refused(refusal: Refusal, text: str, said: str) -> None:
    assert said in str(refusal(BASE % text))


def test_a_built_in_may_leave_over_mcp_while_its_switch_is_on(read: Read) -> None:
    text = (
        "harness: {knowledge: {enabled: true, read_tool: true}, tools: [{name: read_file}]}\n"
        "expose: {agent: {mcp: {builtins: [knowledge_search, ' knowledge_read', read_file]}}}"
    )
    mcp = read(text).expose.agent.mcp
    assert mcp is not None
    assert mcp.builtins == ["knowledge_search", "knowledge_read", "read_file"]


def test_reading_documents_over_mcp_needs_the_tool_that_reads_them(refusal: Refusal) -> None:
    text = (
        "harness: {knowledge: {enabled: true}}\n"
        "expose: {agent: {mcp: {builtins: [knowledge_search, knowledge_read]}}}"
    )
    assert "lists knowledge_read but knowledge.read_tool is not enabled" in str(refusal(text))
